import ArgumentParser

/// A web service of several worker processes that share one cache: what one of them stores, the others serve at once, also without
/// a connection to the backend.
@main
struct WebService: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "webservice",
    abstract: "Serve items over HTTP, with workers that share one cache.",
    subcommands: [Serve.self, Work.self],
    defaultSubcommand: Serve.self)
}
