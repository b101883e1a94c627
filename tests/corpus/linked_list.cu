// Nodes that point at each other, built on the device, walked by another kernel.
//: array uint64 nodes[200]
//: array int32 value[100] = integers(0, 1000)
//: array int64 sum[1]
//: launch build<<<1, 128>>>(nodes, value, 100)
//: launch walk<<<1, 1>>>(nodes, sum)
//: check sum
struct Node { Node* next; long long value; };
extern "C" __global__ void build(Node* nodes, const int* value, int n) {
  int i = threadIdx.x;
  if (i < n) { nodes[i].value = value[i]; nodes[i].next = i + 1 < n ? nodes + i + 1 : nullptr; }
}
extern "C" __global__ void walk(const Node* head, long long* sum) {
  *sum = 0;
  for (const Node* p = head; p; p = p->next) *sum += p->value;
}
