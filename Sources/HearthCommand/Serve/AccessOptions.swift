internal import ArgumentParser
internal import Foundation
internal import HearthRPC

/// The callers who may use `hearth serve`, and what they may do.
struct AccessOptions: ParsableArguments {
  @Flag(
    help: """
      Start on a --host that other machines reach although no option says who may call. Everyone who reaches the port may then read, \
      change and delete all documents of all projects, without a password and without TLS, and --rules do not stop who makes up a token. \
      On 127.0.0.1 and localhost it is not needed.
      """)
  var openToEveryone = false

  @Option(
    help: ArgumentHelp(
      "An origin whose web pages may use the server, such as https://app.example.com; * allows all. Can be repeated.",
      valueName: "origin"))
  var allowOrigin: [String] = []

  @Option(
    help: ArgumentHelp(
      """
      A name by which clients of REST call the server, in addition to localhost and the address that it listens on; * allows all. \
      Can be repeated.
      """, valueName: "name"))
  var allowHost: [String] = []

  @Flag(help: "End the server on the request POST /shutdown.")
  var allowShutdown = false

  @Flag(
    help: """
      Delete all documents of a database on the request of Google's emulator for that (DELETE /emulator/v1/…), which is always \
      allowed with --in-memory.
      """)
  var allowClear = false

  func validate() throws {
    for origin in allowOrigin where origin != "*" {
      guard let scheme = origin.range(of: "://"), !scheme.isEmpty, !origin[scheme.upperBound...].isEmpty,
        !origin[scheme.upperBound...].contains("/")
      else {
        throw ValidationError(
          "--allow-origin is \(origin): say scheme and host, such as https://app.example.com, or *.")
      }
    }
    for host in allowHost where host != "*" && (host.isEmpty || host.contains { "/ ".contains($0) }) {
      throw ValidationError(
        "--allow-host is \(host): say the name alone, without scheme and path, such as db.example.com, or *.")
    }
  }

  var access: WebAccess {
    var access = WebAccess()
    access.origins = allowOrigin
    access.hosts = allowHost
    return access
  }
}

/// The indexes of `hearth serve`.
struct IndexOptions: ParsableArguments {
  @Option(
    help: """
      A firestore.indexes.json whose indexes every database gets; it is read again when it changes. Other indexes are made \
      by need.
      """, completion: .file(extensions: ["json"]))
  var indexes: String?

  @Flag(
    help: """
      Refuse queries for which production demands an index that is not declared with --indexes. The error says which one.
      """)
  var requireIndexes = false
}
