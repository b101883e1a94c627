"""The workloads of damo-bench as formulas on arrays of any library: the same names, shapes and arithmetic as bench/workload.cpp.

`m` is the library's module (numpy, jax.numpy, torch, cupy): exp, tanh and sqrt are taken from it.
"""
import collections

Workload = collections.namedtuple("Workload", "name shapes formula bytes")

GPU = dict(elements=1 << 27, rows=16384, columns=8192, chain=1 << 20, matrix=4096)
CPU = dict(elements=1 << 24, rows=4096, columns=4096, chain=1 << 16, matrix=1024)


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


def long_chain(length):
    def chain(m, x):
        for i in range(length):
            x = m.tanh(x * 1.0001 + 0.001 * (i % 7))
        return x
    return chain


def workloads(sizes):
    """Every workload but copy, which each library says in its own way."""
    n, r, c, k, g = sizes["elements"], sizes["rows"], sizes["columns"], sizes["chain"], sizes["matrix"]
    return [
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
        Workload("layernorm_8k", [(r, c), (c,), (c,)], layer_norm, 8 * r * c),
        Workload("rmsnorm_1k", [(n // 1024, 1024), (1024,)], rms_norm, 8 * n),
        Workload("colsum_gelu", [(r, c)], lambda m, x: m.sum(gelu(m, x), axis=0), 4 * r * c),
        Workload("argmax_rows", [(r, c)], lambda m, x: m.argmax(x, 1), 4 * r * c),
        Workload("cumsum_rows", [(r, c)], lambda m, x: m.cumsum(x, 1), 8 * r * c),
        # cross_entropy, gemm_bias_relu and gemm_bias_gelu_tf32 take dtypes that not every library here has.
        Workload("gemm_bias_gelu", [(g, g), (g, g), (g,)], lambda m, x, w, b: gelu(m, m.matmul(x, w) + b), 12 * g * g),
        Workload("mlp_infer_b1", [(1, 784), (784, 512), (512, 512), (512, 10)],
                 lambda m, x, a, b, c: m.matmul(relu(m, m.matmul(relu(m, m.matmul(x, a)), b)), c), 4 * (784 * 512 + 512 * 512 + 5120)),
        Workload("tiny_double", [(256,)], lambda m, x: x * 2, 2048),
        Workload("compile_chain100", [(k,)], long_chain(100), 8 * k),
        Workload("compile_chain1000", [(k,)], long_chain(1000), 8 * k),
    ]
