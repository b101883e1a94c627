#include <damo/print.hpp>

#include <chrono>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/scratch_directory.hpp"

namespace damo {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

/// Inputs of one type -> `outputs` values of that type.
struct PlainOp : Op {
  PlainOp(std::string name, int outputs = 1, Props props = {})
      : name_(std::move(name)), outputs_(outputs), props_(std::move(props)) {}
  std::string name() const override { return name_; }
  Props props() const override { return props_; }
  Apply make_node(Inputs in) const override {
    return {
        *this, {in.begin(), in.end()}, std::vector<TensorType>(static_cast<std::size_t>(outputs_), in.at(0).type())};
  }
  std::string name_;
  int outputs_;
  Props props_;
};

/// An op with an inner graph, as fused ops have.
struct BoxOp final : PlainOp {
  explicit BoxOp(FunctionGraph inner, int outputs = 1) : PlainOp("box", outputs), inner_(std::move(inner)) {}
  const FunctionGraph* inner_graph() const override { return &inner_; }
  FunctionGraph inner_;
};

const auto add_op = make_op<PlainOp>("add");
const auto tanh_op = make_op<PlainOp>("tanh");

Variable box_of_two(const Variable& x, const Variable& y) {
  const Variable a = vector("a"), b = vector("b"), inputs[] = {a, b}, outputs[] = {tanh_op(add_op(a, b))};
  return make_op<BoxOp>(FunctionGraph(inputs, outputs))(x, y);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
  return times;
}

TEST(Debugprint, ShowsATreeWithIdsTypesAndNames) {
  const Variable x = vector("x"), sum = add_op(x, 1.5), y = tanh_op(sum);
  y.set_name("y");
  EXPECT_EQ(debugprint(y),
            "tanh [id A] float32 (?,) 'y'\n"
            " └─ add [id B] float32 (?,)\n"
            "    ├─ x [id C] float32 (?,)\n"
            "    └─ 1.5 [id D] float32 ()\n");
}

TEST(Debugprint, ShowsASharedNodeOnceAndThenItsId) {
  const Variable x = vector("x"), sum = add_op(x, x), y = add_op(sum, sum);
  EXPECT_EQ(debugprint({y, sum}),
            "add [id A] float32 (?,)\n"
            " ├─ add [id B] float32 (?,)\n"
            " │  ├─ x [id C] float32 (?,)\n"
            " │  └─ x [id C] float32 (?,)\n"
            " └─ add [id B] float32 (?,) ···\n"
            "add [id B] float32 (?,) ···\n");
}

TEST(Debugprint, NumbersTheOutputsOfANodeAndShowsProps) {
  const Variable x = vector();
  const auto split = make_op<PlainOp>("split", 2, Props{{"axis", std::int64_t{1}}});
  EXPECT_EQ(debugprint(split.outputs({x})[1]),
            "split{axis=1}.1 [id A] float32 (?,)\n"
            " └─ input 0 [id B] float32 (?,)\n");
}

TEST(Debugprint, ListsTheGraphInsideAFusedOpOnce) {
  const Variable x = vector("x"), y = vector("y"), box = box_of_two(x, y);
  EXPECT_EQ(debugprint(add_op(box, box)),
            "add [id A] float32 (?,)\n"
            " ├─ box{2 ops} [id B] float32 (?,)\n"
            " │  ├─ x [id C] float32 (?,)\n"
            " │  └─ y [id D] float32 (?,)\n"
            " └─ box{2 ops} [id B] float32 (?,) ···\n"
            "\n"
            "Inner graphs:\n"
            "\n"
            "box{2 ops} [id B]\n"
            "tanh [id E] float32 (?,)\n"
            " └─ add [id F] float32 (?,)\n"
            "    ├─ a [id G] float32 (?,)\n"
            "    └─ b [id H] float32 (?,)\n");
  EXPECT_THAT(debugprint({box}, {.inner_graphs = false}), Not(HasSubstr("Inner")));
}

TEST(Debugprint, TellsTheLineThatBuiltANode) {
  const Variable y = tanh_op(vector("x"));
  const int line = __LINE__ - 1;
  EXPECT_THAT(debugprint(y, {.source_lines = true}), HasSubstr("print_test.cpp:" + std::to_string(line) + ")"));
}

TEST(Debugprint, EndsAtTheLimitOfLinesAndSaysHowManyNodesAreLeft) {
  Variable x = vector("x");
  for (int i = 0; i < 10; ++i) x = tanh_op(x);
  EXPECT_EQ(debugprint(x, {.lines = 2}), "tanh [id A] float32 (?,)\n └─ tanh [id B] float32 (?,)\n... 8 more nodes\n");
  EXPECT_EQ(debugprint(x, {.depth = 1}),
            "tanh [id A] float32 (?,)\n └─ tanh [id B] float32 (?,) ...\n... 8 more nodes\n");
}

TEST(Debugprint, TakesAChainOfAMillionNodes) {
  Variable x = vector("x");
  for (int i = 0; i < 1'000'000; ++i) x = tanh_op(x);
  const auto start = std::chrono::steady_clock::now();
  const std::string text = debugprint(x);
  EXPECT_THAT(text, HasSubstr("... 999939 more nodes"));
  EXPECT_LT(text.size(), 100'000u);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 20);  // a second or two
}

TEST(Debugprint, RefusesAnEmptyVariable) { EXPECT_THROW(debugprint(Variable()), GraphError); }

TEST(Dot, DrawsFusedOpsAsClustersWithTheirNodes) {
  const Variable x = vector("x"), y = vector("y"), box = box_of_two(x, y);
  box.set_name("z");
  const std::string dot = to_dot(box);
  EXPECT_THAT(dot, HasSubstr("digraph G {"));
  EXPECT_THAT(dot, HasSubstr("subgraph cluster_0 {\nlabel=\"box{2 ops}\""));
  EXPECT_EQ(count(dot, "->"), 4u);  // x, y -> add -> tanh -> z
  EXPECT_THAT(dot, HasSubstr("0->2 [label=\"float32 (?,)\"]"));
  EXPECT_THAT(dot, HasSubstr("4[label=\"z\""));
}

TEST(Dot, QuotesWhateverANameHolds) {
  const Variable x = vector("a \"b\" \\N\nc");
  EXPECT_THAT(to_dot(tanh_op(x)), HasSubstr("label=\"a \\\"b\\\" \\\\N\\nc\""));
}

TEST(Dot, IsUtf8WhateverANameHolds) {
  const std::string umlaut = "\xc3\xbc", none = "\xEF\xBF\xBD";
  EXPECT_THAT(to_dot(tanh_op(vector("a\xff" + umlaut + "\xc3"))), HasSubstr("label=\"a" + none + umlaut + none + "\""));
  EXPECT_THAT(to_dot(tanh_op(vector("\xed\xa0\x80\"\\"))), HasSubstr("label=\"" + none + none + none + "\\\"\\\\\"")) << "half of a pair of UTF-16 is no character";
}

TEST(Dot, IsAcceptedByGraphviz) {
  if (std::system("command -v dot > /dev/null 2>&1") != 0) GTEST_SKIP() << "needs Graphviz: no program named dot";
  const testing::ScratchDirectory scratch;
  std::ofstream(scratch / "graph.dot") << to_dot({box_of_two(vector("<&\"\\"), vector("y\n")), add_op(vector("x"), 2)});
  EXPECT_EQ(std::system(("dot -Tsvg -o " + scratch / "graph.svg " + scratch / "graph.dot").c_str()), 0);
}

TEST(Svg, DrawsNodesTypesAndTooltips) {
  const Variable x = vector("x"), y = tanh_op(add_op(x, 1.5));
  const std::string svg = to_svg(y);
  EXPECT_TRUE(svg.starts_with("<svg xmlns="));
  EXPECT_THAT(svg, HasSubstr(">tanh</text>"));
  EXPECT_THAT(svg, HasSubstr("<tspan class=\"literal\">1.5</tspan>"));
  EXPECT_THAT(svg, HasSubstr("float32 (?,)</text>"));
  EXPECT_THAT(
      svg,
      ContainsRegex(
          "<title>tanh&#10;reads float32 .*&#10;gives float32 .*&#10;built at [^<]*print_test.cpp:[0-9]+</title>"));
  EXPECT_THAT(svg, Not(HasSubstr("Abridged")));
  EXPECT_EQ(count(svg, "<g>"), count(svg, "</g>"));
  EXPECT_EQ(count(svg, "<text"), count(svg, "</text>"));
}

// Names may hold any bytes; an XML file holds characters.
TEST(Svg, ReplacesWhatIsNoCharacter) {
  const std::string svg = to_svg(tanh_op(vector("a\xFF" "b\xC3" "c\xC3\xA9" "d\xED\xA0\x80<")));
  EXPECT_THAT(svg, HasSubstr("a\xEF\xBF\xBD" "b\xEF\xBF\xBD" "c\xC3\xA9" "d\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD&lt;"));
}

TEST(Svg, DrawsTheInsideOfAFusedOp) {
  const std::string svg = to_svg(box_of_two(vector("x"), vector("y")));
  EXPECT_THAT(svg, HasSubstr("class=\"group\""));
  EXPECT_THAT(svg, HasSubstr(">add</text>"));
  EXPECT_EQ(count(svg, "<circle"), 3u);  // two inputs, one output
}

TEST(Svg, EscapesNames) {
  const std::string svg = to_svg(tanh_op(vector("<script>&\"x\"\t\x01")));
  EXPECT_THAT(svg, HasSubstr("&lt;script&gt;&amp;&quot;x&quot; \xEF\xBF\xBD</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
}

TEST(Svg, AbridgesALargeGraphAndSaysSo) {
  Variable x = vector("x");
  const Variable y = vector("y");
  for (int i = 0; i < 1000; ++i) x = add_op(x, y);
  const std::string svg = to_svg(x, 100);
  EXPECT_THAT(svg, HasSubstr("Abridged: 100 of 1000 nodes are drawn."));
  EXPECT_THAT(svg, HasSubstr("… 900 nodes not drawn …"));
  EXPECT_EQ(count(svg, ">add</text>"), 100u);
  EXPECT_LT(svg.size(), 200'000u);
}

TEST(Svg, DrawsAnOutputThatIsAnInputAndAGraphWithoutOutputs) {
  const Variable x = vector("x");
  EXPECT_THAT(to_svg(x), HasSubstr(">output 0</text>"));
  EXPECT_THAT(to_svg(FunctionGraph()), HasSubstr("</svg>"));
  EXPECT_EQ(debugprint(FunctionGraph()), "");
}

}  // namespace
}  // namespace damo
