import Foundation
import TestSupport

/// A process with one of Google's clients: takes plans as lines, and answers with lines. A line that says `reads` comes in between, once a
/// transaction has read.
actor ProcessListClient: ListClient {
  nonisolated let name: String
  nonisolated let queries: Bool
  private let program: URL
  private let arguments: [String]
  private var process: LineProcess?

  init(name: String, queries: Bool, program: URL, arguments: [String]) {
    self.name = name
    self.queries = queries
    self.program = program
    self.arguments = arguments
  }

  func perform(_ plan: ListPlan, isKilled: Bool) async throws -> ListAnswer {
    let process = try process ?? LineProcess(program, arguments, takesInput: true)
    self.process = process
    process.send(String(decoding: try JSONEncoder().encode(plan), as: UTF8.self))
    while let line = await process.nextLine() {
      if let answer = try? JSONDecoder().decode(ListAnswer.self, from: Data(line.utf8)) { return answer }
      // The process goes on with its commit at the same time. So the kill comes before, during or after it.
      if isKilled { process.killAtOnce() }
    }
    _ = await process.waitForExit()
    self.process = nil
    return .unknown
  }

  func end() async throws {
    process?.endInput()
    _ = await process?.waitForExit()
  }
}
