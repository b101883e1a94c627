//: array float64 x[200] = uniform(0.05, 0.95)
//: array float64 out[1800]
//: launch special<<<2, 100>>>(x, out)
//: check out within 1e-12
__global__ void special(const double* x, double* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  double* o = out + 9 * i;
  double s, c, whole;
  sincospi(x[i], &s, &c);
  o[0] = s; o[1] = c; o[2] = erf(erfinv(x[i])); o[3] = normcdf(normcdfinv(x[i])); o[4] = rcbrt(x[i]);
  o[5] = lgamma(3.0 * x[i]); o[6] = norm3d(x[i], 2.0, 3.0); o[7] = modf(7.0 * x[i], &whole) + 100.0 * whole; o[8] = j0(x[i]);
}
