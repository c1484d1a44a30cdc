internal import Foundation
internal import HearthServer

#if PostgreSQL
  internal import PostgresSupport
#endif

/// Servers over PostgreSQL databases, each in a process of its own. The PostgreSQL server ends with the benchmark, and makes commits durable.
struct ClusterHosts {
  static let option = "--cluster"

  /// The databases of the columns with one node and with several.
  private let urls: [String]

  init() async throws {
    #if PostgreSQL
      guard PostgresServer.isAvailable else { throw Failure(PostgresServer.skipReason) }
      let server = try await PostgresServer.start(isDurable: true, settings: ["shared_buffers": "256MB"])
      var urls: [String] = []
      for _ in 0..<2 {
        let url = try await server.createDatabase()
        try await ClusterSetup(ClusterLocation(url: url)).create()
        urls.append(url)
      }
      self.urls = urls
    #else
      throw Failure("the benchmarks were built without the trait PostgreSQL (apt install libpq-dev postgresql)")
    #endif
  }

  /// - Parameter node: 0 for the one that is alone, 1 and above for those that share a database.
  func start(node: Int) throws -> ServerProcess {
    try ServerProcess([ServerProcess.hostCommand, Self.option, urls[node == 0 ? 0 : 1], "node\(node)"])
  }

  /// In the server's process.
  static func storage(_ words: ArraySlice<String>) throws -> StorageLocation {
    #if PostgreSQL
      guard let url = words.first, let name = words.dropFirst().first else { throw Failure("\(option) URL NAME") }
      return .cluster(ClusterLocation(url: url, nodeName: name))
    #else
      throw Failure("the benchmarks were built without the trait PostgreSQL")
    #endif
  }
}
