import Foundation
import HearthModel
import TestSupport
import Testing

@testable import HearthAuthentication

@Suite("Keys that are read again", .timeLimit(.minutes(1)))
struct TokenKeysTests {
  private let clock = HandClock()

  private func token(_ issuer: TestIssuer) async throws -> Token { try Token(try await issuer.token(["sub": "a"])) }

  @Test("a token with a new key makes the server look once a minute, however many such tokens come")
  func rotation() async throws {
    let (first, second) = (try TestIssuer(keyID: "k1"), try TestIssuer(keyID: "k2"))
    let source = try TestKeySource([first])
    let keys = TokenKeys(source, clock: clock.clock, logger: quietLogger)
    try await keys.load()
    let new = try await token(second)
    for _ in 0..<50 {
      let error = await #expect(throws: TokenError.self) { _ = try await keys.candidates(for: new) }
      #expect(error?.kind == .refused && error?.description.contains("k2") == true)
    }
    #expect(source.readCount == 1)
    try source.set([first, second])
    clock.move(by: 60)
    #expect(try await keys.candidates(for: new).keys.count == 1)
    #expect(source.readCount == 2)
    #expect(keys.standing(ofRelease: 2) == .present)
    #expect(keys.standing(ofRelease: 1) == .replaced)
  }

  @Test("keys that cannot be read again stay, and the source is asked every ten seconds")
  func failure() async throws {
    let issuer = try TestIssuer()
    let source = try TestKeySource([issuer], maximumAge: .seconds(300))
    let log = LogRecorder()
    let keys = TokenKeys(source, clock: clock.clock, logger: log.logger)
    try await keys.load()
    source.fail()
    clock.move(by: 301)
    let token = try await token(issuer)
    for _ in 0..<20 { #expect(try await keys.candidates(for: token).keys.count == 1) }
    // The time of the failure counts.
    try await waitUntil { source.readCount == 2 && log.lines.count == 1 }
    clock.move(by: 11)
    #expect(try await keys.candidates(for: token).keys.count == 1)
    try await waitUntil { source.readCount == 3 }
    #expect(keys.standing(ofRelease: 1) == .present)
  }

  @Test("a silent source keeps nobody waiting who has a known key")
  func silence() async throws {
    let issuer = try TestIssuer()
    let source = try TestKeySource([issuer], maximumAge: .seconds(300))
    let keys = TokenKeys(source, clock: clock.clock, logger: quietLogger)
    try await keys.load()
    source.beSilent()
    clock.move(by: 301)
    #expect(try await keys.candidates(for: try await token(issuer)).keys.count == 1)
    // It was asked, and is not answered yet.
    try await waitUntil { source.readCount == 2 }
    #expect(try await keys.candidates(for: try await token(issuer)).keys.count == 1)
    source.speak()
  }

  @Test("without any keys a token can be neither accepted nor refused")
  func unavailable() async throws {
    let issuer = try TestIssuer()
    let source = try TestKeySource([issuer])
    source.fail()
    let keys = TokenKeys(source, clock: clock.clock, logger: quietLogger)
    await #expect(throws: TokenKeyError.self) { try await keys.load() }
    let token = try await token(issuer)
    let error = await #expect(throws: TokenError.self) { _ = try await keys.candidates(for: token) }
    #expect(error?.kind == .keysUnavailable)
    try source.set([issuer])
    clock.move(by: 10)
    #expect(try await keys.candidates(for: token).keys.count == 1)
  }

  @Test("many requests share one reading")
  func shared() async throws {
    let issuer = try TestIssuer()
    let source = try TestKeySource([issuer])
    let keys = TokenKeys(source, clock: clock.clock, logger: quietLogger)
    let token = try await token(issuer)
    source.beSilent()
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<100 { group.addTask { try await keys.candidates(for: token).keys.count } }
      try await waitUntil { source.readCount == 1 }
      source.speak()
      for try await count in group { #expect(count == 1) }
    }
    #expect(source.readCount == 1)
  }

  @Test("a file is read again when it changes; one that is wrong or gone leaves the keys as they are")
  func file() async throws {
    try await withTemporaryFolder { folder in
      let (first, second) = (try TestIssuer(keyID: "k1"), try TestIssuer(keyID: "k2"))
      let path = "\(folder)/keys.json"
      try TestIssuer.webKeySet([first.webKey]).write(to: URL(fileURLWithPath: path))
      let keys = TokenKeys(TokenKeyFile(path: path), clock: clock.clock, logger: quietLogger)
      try await keys.load()
      for text in ["nonsense", nil] {
        if let text {
          try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        } else {
          try FileManager.default.removeItem(atPath: path)
        }
        clock.move(by: 2)
        #expect(try await keys.candidates(for: try await token(first)).keys.count == 1)
      }
      try TestIssuer.webKeySet([second.webKey]).write(to: URL(fileURLWithPath: path))
      clock.move(by: 2)
      #expect(try await keys.candidates(for: try await token(second)).keys.count == 1)
      let former = try await token(first)
      await #expect(throws: TokenError.self) { _ = try await keys.candidates(for: former) }
    }
  }

  @Test("a file that cannot be read is named", arguments: ["missing", "folder"])
  func badFile(name: String) async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: "\(folder)/folder", withIntermediateDirectories: true)
      let keys = TokenKeys(TokenKeyFile(path: "\(folder)/\(name)"), clock: clock.clock, logger: quietLogger)
      let error = await #expect(throws: TokenKeyError.self) { try await keys.load() }
      #expect(error?.description.contains("\(folder)/\(name)") == true)
    }
  }
}
