internal import Foundation

/// The server compared with Google's emulator, an echo service on the same gRPC stack, and SQLite alone: `scripts/bench --server`.
@main
enum Main {
  static func main() async throws {
    let words = Array(CommandLine.arguments.dropFirst())
    switch words.first {
    case ServerProcess.hostCommand: try await ServerProcess.host(words.dropFirst())
    case EchoService.command: try await EchoService.main()
    case EchoCodec.command: try await EchoCodec.main()
    case TokenCost.command: try await TokenCost.main(Array(words.dropFirst()))
    case SwiftLoad.command: try await SwiftLoad.main(Array(words.dropFirst()))
    default:
      let signals = ServerProcess.endWithSignals()
      defer { withExtendedLifetime(signals) {} }
      do {
        let options = try ServerRun.Options(words)
        let run = try await ServerRun(options)
        try run.run()
      } catch {
        FileHandle.standardError.write(Data("server benchmark: \(error)\n".utf8))
        exit(1)
      }
    }
  }
}
