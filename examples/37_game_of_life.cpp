// Conway's game of life on a torus, one thread a cell, two boards that take turns. A glider comes home after four times
// as many generations as the board is wide; a random board is checked against the host.
#include <damo/cuda_c.hpp>
#include <iostream>
#include <random>
#include <vector>
using namespace damo;

using Board = std::vector<unsigned char>;  // size x size cells, 1 for one that lives
constexpr int size = 48;

constexpr const char* source = R"(
  __global__ void generation(const unsigned char* cells, unsigned char* next, int size) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= size || row >= size) return;
    int neighbours = 0;
    for (int i = -1; i <= 1; ++i)
      for (int j = -1; j <= 1; ++j)
        if (i != 0 || j != 0) neighbours += cells[(row + i + size) % size * size + (column + j + size) % size];
    const int cell = row * size + column;
    next[cell] = neighbours == 3 || (neighbours == 2 && cells[cell]);
  })";

Board play(const Kernel& generation, const Board& board, int generations) {
  Array cells = Array::from(board, generation.device()), next = Array::empty(cells.shape(), uint8, generation.device());
  const LaunchConfig config{.grid = {(size + 15) / 16, (size + 15) / 16}, .block = {16, 16}};
  for (int i = 0; i < generations; ++i) {
    generation(config, cells, next, size);
    std::swap(cells, next);
  }
  return cells.to_vector<unsigned char>();
}

Board play_on_host(Board board, int generations) {
  const auto cell = [](int row, int column) {
    return static_cast<std::size_t>((row + size) % size * size + (column + size) % size);
  };
  for (int i = 0; i < generations; ++i) {
    Board next(board.size());
    for (int row = 0; row < size; ++row)
      for (int column = 0; column < size; ++column) {
        const int above =
            board[cell(row - 1, column - 1)] + board[cell(row - 1, column)] + board[cell(row - 1, column + 1)];
        const int below =
            board[cell(row + 1, column - 1)] + board[cell(row + 1, column)] + board[cell(row + 1, column + 1)];
        const int all = above + below + board[cell(row, column - 1)] + board[cell(row, column + 1)];
        next[cell(row, column)] = all == 3 || (all == 2 && board[cell(row, column)]);
      }
    board = next;
  }
  return board;
}

int main() {
  const Kernel generation = Module(Device(), source).kernel("generation");
  Board glider(size * size, 0);
  for (const auto& [row, column] : {std::pair{0, 1}, {1, 2}, {2, 0}, {2, 1}, {2, 2}})
    glider[static_cast<std::size_t>(row * size + column)] = 1;
  const Board later = play(generation, glider, 4);
  for (int row = 0; row < 5; ++row) {
    for (int column = 0; column < 5; ++column)
      std::cout << (later[static_cast<std::size_t>(row * size + column)] ? " #" : " .");
    std::cout << "\n";
  }
  bool right = later[size + 2] == 1 && later != glider;  // one down and one to the right
  right &= play(generation, glider, 4 * size) == glider;

  std::mt19937 random(5);
  Board board(size * size);
  for (unsigned char& cell : board) cell = static_cast<unsigned char>(random() % 3 == 0);
  right &= play(generation, board, 50) == play_on_host(board, 50);
  std::cout << (right ? "right: the glider came home\n" : "WRONG\n");
  return right ? 0 : 1;
}
