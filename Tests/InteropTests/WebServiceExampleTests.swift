import Foundation
import Hearth
import HearthServer
import InteropSupport
import Logging
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The program of `Examples/WebService`, with three workers. Its package, Hummingbird, is resolved only for those who ask for it.
@Suite(
  "The web service whose workers share one cache",
  .enabled(if: WebServiceRun.isBuilt, "WebServiceExample is not built: set HEARTH_EXAMPLES=1 for the build"))
struct WebServiceExampleTests {
  @Test("each worker serves what another one has stored, without a backend and with one", .timeLimit(.minutes(3)))
  func workersShareOneCache() async throws {
    let folder = TemporaryFolder()
    let backendPort = try Programs.freePort()
    let service = try await WebServiceRun(folder: folder.url, backendPort: backendPort)

    // No backend listens: an item is stored on this machine, and each worker has it at once.
    let posted = try await service.request(0, "POST", "items", body: #"{"name": "tea"}"#)
    #expect(posted.status == 202)
    let item = try #require(posted.body as? [String: Any])
    #expect(item["name"] as? String == "tea")
    for worker in service.ports.indices {
      let list = try await service.request(worker, "GET", "items")
      #expect(list.status == 200)
      let answer = try #require(list.body as? [String: Any])
      #expect(answer["items"] as? NSArray == [item] as NSArray, "worker \(worker)")
      #expect(answer["isComplete"] as? Bool == false, "no backend has been asked yet")
      #expect(try await service.waiting(worker) == 1)
    }
    #expect(try await service.request(1, "POST", "items", body: #"{"name": ""}"#).status == 400)

    // With a backend the item gets there, through whichever worker has the connection.
    let logger = Logger(label: "web-service-example") { _ in SwiftLogNoOpLogHandler() }
    let server = try await EmbeddedServer.start(host: "127.0.0.1", port: backendPort, storage: .memory, logger: logger)
    let client = try InteropClient(port: backendPort, project: "demo-items")
    let log = EventLog(client.collection("items").order(by: "name"))
    try await log.newest("the item at the backend") { $0.documents.map(\.documentID) == [item["id"] as? String] }

    // A worker that is killed is replaced, and the others go on.
    let health = try #require(try await service.request(2, "GET", "healthz").body as? [String: Any])
    kill(try #require(health["worker"] as? Int32), SIGKILL)
    #expect(try await service.request(0, "POST", "items", body: #"{"name": "milk"}"#).status == 202)
    try await log.newest("both items at the backend") {
      $0.documents.map { $0.get("name") as? String } == ["milk", "tea"]
    }
    try await service.replaceWorker()
    for worker in service.ports.indices {
      let list = try await service.request(worker, "GET", "items")
      let items = (list.body as? [String: Any])?["items"] as? [[String: Any]]
      #expect(items?.map { $0["name"] as? String } == ["milk", "tea"], "worker \(worker)")
    }

    log.remove()
    try await client.firestore.terminate()
    #expect(await service.shutDown() == 0)
    await server.shutdown()
  }
}

/// The running service.
private final class WebServiceRun {
  /// True if this build has the program.
  static var isBuilt: Bool {
    ProcessInfo.processInfo.environment["HEARTH_EXAMPLES"] != nil
      && FileManager.default.isExecutableFile(atPath: Programs.product("WebServiceExample").path)
  }

  private let process: LineProcess
  /// The ports of the workers.
  private(set) var ports: [Int] = []

  init(folder: URL, backendPort: Int) async throws {
    process = try LineProcess(
      Programs.product("WebServiceExample"),
      [
        "--workers", "3", "--port", "0", "--host", "127.0.0.1:\(backendPort)", "--cache", folder.path,
      ])
    for _ in 0..<3 { ports.append(try await nextPort()) }
  }

  deinit { process.killAtOnce() }

  /// Waits for the worker in the place of that which was on the last port to answer.
  func replaceWorker() async throws {
    let new = try await nextPort()
    for port in ports {
      if (try? await Self.answer(port, "GET", "healthz", body: nil)) == nil {
        ports.removeAll { $0 == port }
      }
    }
    ports.append(new)
    #expect(ports.count == 3)
  }

  func request(
    _ worker: Int, _ method: String, _ path: String, body: String? = nil
  ) async throws -> (status: Int, body: Any?) {
    try await Self.answer(ports[worker], method, path, body: body)
  }

  /// The number of writes that wait, as a worker sees it.
  func waiting(_ worker: Int) async throws -> Int? {
    (try await request(worker, "GET", "healthz").body as? [String: Any])?["waiting"] as? Int
  }

  /// SIGTERM, and the exit status.
  func shutDown() async -> Int32 {
    process.askToEnd()
    return await process.waitForExit()
  }

  private func nextPort() async throws -> Int {
    while let line = await process.nextLine() {
      let words = line.split(separator: " ")
      if words.first == "worker", let port = words.last.flatMap({ Int($0) }) { return port }
    }
    return try #require(nil as Int?, "the service has ended")
  }

  private static func answer(
    _ port: Int, _ method: String, _ path: String, body: String?
  ) async throws -> (status: Int, body: Any?) {
    var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(port)/\(path)")))
    request.httpMethod = method
    request.httpBody = body.map { Data($0.utf8) }
    request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    let (data, response) = try await URLSession.shared.data(for: request)
    let status = (response as? HTTPURLResponse)?.statusCode ?? 0
    return (status, try? JSONSerialization.jsonObject(with: data))
  }
}
