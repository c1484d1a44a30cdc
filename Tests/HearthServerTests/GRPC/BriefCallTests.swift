import HearthModel
import HearthTransport
import HearthWire
import NIOCore
import NIOPosix
import SwiftProtobuf
import Synchronization
import Testing

@testable import HearthRPC
@testable import HearthServer

@Suite("Brief calls")
struct BriefCallTests {
  @Test("a database is opened off the event loop that asks for it, and found on the loop afterwards")
  func opening() async throws {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let openings = Mutex<[Bool]>([])
    let backend = try EmbeddedBackend(
      location: .memory, clock: .system, logger: ServerFixture.quietLogger,
      opening: { _, open in
        openings.withLock { $0.append(loop.inEventLoop) }
        return try open()
      })
    let onLoop = Task(executorPreference: EventLoopTaskExecutor(loop)) {
      let opened = try await backend.database(ServerFixture.database)
      let isBack = loop.inEventLoop
      let again = try await backend.database(ServerFixture.database)
      return opened === again && isBack && loop.inEventLoop
    }
    #expect(try await onLoop.value)
    #expect(openings.withLock { $0 } == [false])
    await backend.close()
  }

  @Test("small and large commits that come together on one connection are all made, each at a version of its own")
  func sizes() async throws {
    try await ServerFixture.withServer { server in
      // The large ones are read in the pool, the others on the event loop.
      let times = try await withThrowingTaskGroup(of: (Int, Google_Protobuf_Timestamp).self) { group in
        for number in 0..<60 {
          group.addTask {
            let text = String(repeating: "x", count: number.isMultiple(of: 5) ? 20_000 : number)
            let answer = try await server.commit([.set(key("c/d\(number)"), ["text": .string(text)])])
            return (number, answer.commitTime)
          }
        }
        return try await group.reduce(into: [Int: Google_Protobuf_Timestamp]()) { $0[$1.0] = $1.1 }
      }
      #expect(times.count == 60)
      #expect(Set(times.values).count == 60)
      for number in 0..<60 {
        var request = Google_Firestore_V1_GetDocumentRequest()
        request.name = ServerFixture.database.name(of: key("c/d\(number)"))
        let document: Google_Firestore_V1_Document = try await server.unary(Method.GetDocument.descriptor, request)
        #expect(document.updateTime == times[number])
      }
    }
  }
}
