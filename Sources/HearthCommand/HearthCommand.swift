internal import ArgumentParser

/// The program `hearth`: a server that speaks the Firestore protocol, and the tools around it.
@main struct HearthCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "hearth",
    abstract: "A Cloud Firestore compatible server and its tools.",
    subcommands: [
      ServeCommand.self, DataCommand.self, CacheCommand.self, DemoCommand.self, DemoDeviceCommand.self,
      DemoWorkerCommand.self,
    ])
}
