// divide_among_parts: elementwise work on what concatenate puts together is done part by part before it: f(concatenate(a, b), c) is
// concatenate(f(a, c[:n]), f(b, c[n:])). The parts are then written where concatenate has them (runtime/exec/parts_plan.hpp), and nobody copies them, nor reads them again.
// Parts of one shape may be one kernel, so x * cos + concatenate({-x2, x1}) * sin is one. Exact.
//
// It is done where no kernel has more to read or to write for it: all elementwise work on the whole moves, to where a result, a view, a product or another op
// that is no generated kernel reads it. Nothing moves before a reduction or a scan of the whole, which would be one kernel with that work. Operands beside the whole are cut
// by views: leaves and views themselves, elementwise work by way of its operands, if nobody else reads it but what follows from parts along the axis too, which is then divided with it. What is the same for all parts stays; it must not
// follow from a reduction, which could be in one kernel with its reader. Extents along the axis are known.
// Several concatenates along one axis may have their parts end at different places, as rolls to both sides do: then it is done for each stretch between two such places, where what would be cut is a leaf or a view.
// A concatenate of such along another axis is put together anew for each part, and divided in turn: of a stencil that goes round in two axes the inside is one kernel, edges and corners are others.
// Parts along several axes, whose numbers multiply, are few or large: a stencil of two neighbours to each side in three axes has 125, which 32^3 elements are not worth. What is divided along one axis may have large parts that are divided along another and small ones that are not.
// Linear in the graph and in what is made anew, which is bounded for each concatenate that was there before. See tests/ops/rewrites/divide_among_parts_test.cpp.
#pragma once
#include <damo/graph.hpp>

namespace damo {

FunctionGraph divide_among_parts(FunctionGraph graph);

}  // namespace damo
