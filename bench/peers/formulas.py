"""The workloads of damo-bench as formulas on arrays of any library: the same names, shapes and arithmetic as bench/workload.cpp and,
of training steps, bench/perceptron_benchmarks.cpp.

`m` is the library's module (numpy, jax.numpy, torch, cupy): exp, tanh and sqrt are taken from it.
"""
import dataclasses
import typing


@dataclasses.dataclass(frozen=True)
class Workload:
    name: str
    shapes: list
    formula: typing.Callable
    bytes: int
    dtype: str = "float32"  # of all arrays but labels
    classes: int = 0        # if not 0: the last array holds integers below it
    scale: float = 1.0      # of the random values
    trained: tuple = ()     # positions of the arrays by which the formula, a loss, is differentiated; the loss and these gradients are the result
    rate: float = 0.0       # if not 0: not the gradients, but the arrays after a step of that length down them
    keeps_loss: bool = True  # False: the gradients alone are the result
    is_a_loop: bool = False  # of 1,000 steps: torch.compile, which would take each of them for itself, is left out

    @property
    def is_of_all(self):
        """Whether a library without gradients and without bfloat16 computes it too."""
        return not self.trained and self.dtype == "float32"

    def stepped(self, arrays, loss, gradients):
        """The result, of the loss and its gradients."""
        changed = tuple(arrays[i] - self.rate * g if self.rate else g for i, g in zip(self.trained, gradients))
        return (loss, *changed) if self.keeps_loss else changed


GPU = dict(elements=1 << 27, rows=16384, columns=8192, chain=1 << 20, half_matrix=8192, matrix=4096, batches=(64, 8192))
CPU = dict(elements=1 << 24, rows=4096, columns=4096, chain=1 << 16, half_matrix=1024, matrix=1024, batches=(64,))


def chain20(m, x, y):
    z = x
    for i in range(20):
        z = m.exp(-z * z) + m.tanh(y * (0.1 * i)) if i % 2 else z * y + 0.01 * i
    return z


def gelu(m, u):
    return 0.5 * u * (1.0 + m.tanh(0.7978845608028654 * (u + 0.044715 * u * u * u)))


def relu(m, u):
    return m.maximum(u, 0 * u)


def adam(m, p, first, second, g):
    first, second = 0.9 * first + 0.1 * g, 0.999 * second + 0.001 * g * g
    return p - 1e-3 * first / (m.sqrt(second) + 1e-8), first, second


def softmax(m, x):
    """The library's own where it has one."""
    if hasattr(m, "softmax"):
        return m.softmax(x, 1)
    e = m.exp(x - m.amax(x, axis=1, keepdims=True))
    return e / m.sum(e, axis=1, keepdims=True)


def mean_of_rows(m, x):
    return m.sum(x, axis=1, keepdims=True) / x.shape[1]


def layer_norm(m, x, weight, bias):
    centered = x - mean_of_rows(m, x)
    return centered / m.sqrt(mean_of_rows(m, centered * centered) + 1e-5) * weight + bias


def rms_norm(m, x, weight):
    return x / m.sqrt(mean_of_rows(m, x * x) + 1e-5) * weight


def cross_entropy(m, scores, labels):
    """Its mean; the library's own where it has one."""
    if hasattr(m, "nn"):
        return m.nn.functional.cross_entropy(scores, labels)
    greatest = m.amax(scores, axis=1, keepdims=True)
    sums = m.log(m.sum(m.exp(scores - greatest), axis=1)) + greatest[:, 0]
    return m.mean(sums - m.take_along_axis(scores, labels[:, None], 1)[:, 0])


def mlp_loss(m, x, w1, b1, w2, b2, w3, b3, labels):
    """Of two hidden layers; the last products are compared in float32."""
    h = relu(m, m.matmul(relu(m, m.matmul(x, w1) + b1), w2) + b2)
    scores = m.matmul(h, w3) + b3
    return cross_entropy(m, scores.astype("float32") if hasattr(scores, "astype") else scores.float(), labels)


def mlp_step(batch, dtype):
    """A step of SGD, 784 pixels to 10 classes, as bench/perceptron_benchmarks.cpp has it."""
    hidden = 512 if batch < 1000 else 4096
    shapes = [(batch, 784), (784, hidden), (hidden,), (hidden, hidden), (hidden,), (hidden, 10), (10,), (batch,)]
    return Workload(f"mlp_step_b{batch}" + ("_bf16" if dtype == "bfloat16" else ""), shapes, mlp_loss, 0, dtype, 10, 0.05, tuple(range(1, 7)), 0.01)


def long_chain(length):
    def chain(m, x):
        for i in range(length):
            x = m.tanh(x * 1.0001 + 0.001 * (i % 7))
        return x
    return chain


def sum_of_products(terms):
    def formula(m, x):
        y = x * 0.5
        for i in range(2, terms + 1):
            y = y + x * (1.0 / i)
        return y
    return formula


def repeated(times, step):
    def formula(m, x):
        for _ in range(times):
            x = step(m, x)
        return x
    return formula


def scanned_tanh(m, x):
    """The last of 1,000 states; JAX's own loop where m is JAX's."""
    step = lambda m, h: m.tanh(1.01 * h + 0.1)  # noqa: E731
    if m.__name__ != "jax.numpy":
        return repeated(1000, step)(m, x)
    import jax
    return jax.lax.scan(lambda h, _: (step(m, h), None), x, None, length=1000)[0]


def sorted_values(m, x):
    """torch gives places too."""
    y = m.sort(x)
    return y[0] if isinstance(y, tuple) else y


def weighted(formula):
    """A loss whose gradients are those of the formula's result, of which the last array is the gradient."""
    return lambda m, *arrays: m.sum(formula(m, *arrays[:-1]) * arrays[-1])


def weighted_words(m, table, weights, words):
    return m.sum(table[words] * weights)


IN_BFLOAT16 = ["double", "softmax_4k", "softmax_64k", "softmax_1k", "softmax_50257", "softmax_8191", "softmax_262144", "layernorm_8k", "rmsnorm_1k",
               "layernorm_gradient", "rmsnorm_gradient", "cross_entropy_gradient", "cross_entropy_gradient_50257", "colsum_gelu", "argmax_rows"]


def workloads(sizes):
    """Every workload but copy, which each library says in its own way."""
    n, r, c, k, g, h = (sizes[key] for key in ("elements", "rows", "columns", "chain", "matrix", "half_matrix"))
    rows = lambda columns: Workload(f"softmax_{columns}" if columns % 1000 else f"softmax_{columns // 1000}k", [(n // columns, columns)], softmax, 8 * n)  # noqa: E731
    all_of_them = [
        Workload("double", [(n,)], lambda m, x: x * 2, 8 * n),
        Workload("axpby_tanh", [(n,)] * 2, lambda m, x, y: m.tanh(1.5 * x + 0.5 * y) * x, 12 * n),
        Workload("chain20", [(n,)] * 2, chain20, 12 * n),
        Workload("bias_gelu_residual", [(r, c), (c,), (r, c)], lambda m, x, b, r: gelu(m, x + b) + r, 12 * r * c),
        Workload("multi_output", [(n,)] * 2, lambda m, x, y: (x + y, x - y, x * y), 20 * n),
        Workload("transpose_tanh", [(r, c), (c, r)], lambda m, x, y: m.tanh(x.T) + y, 12 * r * c),
        Workload("outer", [(r, 1), (1, c), (r, c)], lambda m, a, b, x: a * b + x, 8 * r * c),
        Workload("adam", [(n // 2,)] * 4, adam, 14 * n),
        Workload("sum_xy", [(n,)] * 2, lambda m, x, y: m.sum(x * y), 8 * n),
        Workload("softmax_4k", [(n // 4096, 4096)], softmax, 8 * n),
        Workload("softmax_64k", [(n // 65536, 65536)], softmax, 8 * n),
        rows(1000), rows(50257), rows(8191), rows(300), rows(262144),
        Workload("layernorm_8k", [(r, c), (c,), (c,)], layer_norm, 8 * r * c),
        Workload("rmsnorm_1k", [(n // 1024, 1024), (1024,)], rms_norm, 8 * n),
        Workload("layernorm_gradient", [(r, c), (c,), (c,), (r, c)], weighted(layer_norm), 12 * r * c, trained=(0, 1, 2), keeps_loss=False),
        Workload("rmsnorm_gradient", [(n // 1024, 1024), (1024,), (n // 1024, 1024)], weighted(rms_norm), 12 * n, trained=(0, 1), keeps_loss=False),
        Workload("colsum_gelu", [(r, c)], lambda m, x: m.sum(gelu(m, x), axis=0), 4 * r * c),
        Workload("argmax_rows", [(r, c)], lambda m, x: m.argmax(x, 1), 4 * r * c),
        Workload("cumsum", [(n,)], lambda m, x: m.cumsum(x, 0), 8 * n),
        Workload("cumsum_columns", [(r, c)], lambda m, x: m.cumsum(x, 0), 8 * r * c),
        Workload("cumsum_weighted", [(r, c), (r, c)], lambda m, x, y: m.cumsum(x * y, 1) * y, 12 * r * c),
        Workload("cumsum_rows", [(r, c)], lambda m, x: m.cumsum(x, 1), 8 * r * c),
        Workload("cumsum_rows_8191", [(n // 8191, 8191)], lambda m, x: m.cumsum(x, 1), 8 * n),
        Workload("cross_entropy", [(r, c), (r,)], cross_entropy, 4 * r * c, classes=c),
        Workload("cross_entropy_gradient", [(r, c), (r,)], cross_entropy, 8 * r * c, classes=c, trained=(0,)),
        Workload("cross_entropy_gradient_50257", [(n // 50257, 50257), (n // 50257,)], cross_entropy, 8 * n, classes=50257, trained=(0,)),
        Workload("sort", [(n // 8,)], sorted_values, n),
        Workload("argsort_rows", [(n // 8 // c, c)], lambda m, x: m.argsort(x, 1), 3 * n // 2),
        Workload("embedding_gradient", [(50304, 768), (16384, 768), (16384,)], weighted_words, 4 * (50304 + 16384) * 768, classes=50304, trained=(0,), keeps_loss=False),
        Workload("gemm_bias_relu", [(h, h), (h, h), (h,)], lambda m, x, w, b: relu(m, m.matmul(x, w) + b), 6 * h * h, "bfloat16"),
        Workload("gemm_bias_gelu", [(g, g), (g, g), (g,)], lambda m, x, w, b: gelu(m, m.matmul(x, w) + b), 12 * g * g),
        Workload("mlp_infer_b1", [(1, 784), (784, 512), (512, 512), (512, 10)],
                 lambda m, x, a, b, c: m.matmul(relu(m, m.matmul(relu(m, m.matmul(x, a)), b)), c), 4 * (784 * 512 + 512 * 512 + 5120)),
        Workload("tiny_double", [(256,)], lambda m, x: x * 2, 2048),
        Workload("compile_chain100", [(k,)], long_chain(100), 8 * k),
        Workload("compile_chain1000", [(k,)], long_chain(1000), 8 * k),
        *(Workload(f"sum_of_products{terms}", [(n // 8,)], sum_of_products(terms), n) for terms in (60, 66, 100, 1000)),
        Workload("gradient_of_100_tanh", [(n // 8,), (n // 8,)], weighted(repeated(100, lambda m, y: m.tanh(1.5 * y + 0.1))), 3 * n // 2, trained=(0,), keeps_loss=False),
        Workload("scan_tanh1000", [(65536,)], scanned_tanh, 8 * 65536, is_a_loop=True),
        Workload("scan_tanh1000_gradient", [(65536,)], lambda m, x: m.sum(scanned_tanh(m, x)), 8 * 65536, trained=(0,), keeps_loss=False, is_a_loop=True),
        Workload("tan8", [(n // 8,)], repeated(8, lambda m, z: m.tan(z) * 0.5), n),
        Workload("small_sin50", [(2000,)], repeated(50, lambda m, z: m.sin(z)), 16000),
        Workload("small_tanh50", [(2000,)], repeated(50, lambda m, z: m.tanh(z)), 16000),
        Workload("small_exp50", [(2000,)], repeated(50, lambda m, z: m.exp(-z)), 16000),
    ]
    named = {work.name: work for work in all_of_them}
    all_of_them += [dataclasses.replace(named[name], name=name + "_bf16", dtype="bfloat16", bytes=named[name].bytes // 2) for name in IN_BFLOAT16]
    return all_of_them + [mlp_step(batch, "float32") for batch in sizes["batches"]] + [mlp_step(batch, "bfloat16") for batch in sizes["batches"] if batch > 1000]
