import Foundation
import Hearth
import HearthServer

/// The chapter with two users whose documents security rules keep apart.
extension DemoStory {
  /// The names of the folders with the caches of the users.
  private static let users = ["ada", refusedUser]
  /// The one who writes over a note of the other.
  static let refusedUser = "grace"

  private func notes(of user: String) -> String { "users/\(user)/notes" }

  func usersAreKeptApart() async throws {
    narrator.chapter("Two users: TLS, tokens and security rules")
    let locked = try await LockedBackend(folder: folder.appendingPathComponent("locked-backend"), project: project)
    narrator.say("another hearth serve listens on \(locked.address), with a certificate and these rules:")
    for line in LockedBackend.rules.split(separator: "\n").dropFirst(3).dropLast(2) { narrator.say("\(line)") }
    let devices = try Self.users.map { user in
      try Device(
        name: user, project: project, backend: locked.address, cache: folder.appendingPathComponent(user),
        signedIn: SignedIn(certificateFile: locked.certificateFile, credentials: locked.credentials(of: user)))
    }
    let (ada, grace) = (devices[0].firestore, devices[1].firestore)
    do {
      try await readAndWriteOnline(ada: ada, grace: grace)
      try await callWithoutToken(locked)
      try await writeOffline(ada: ada, grace: grace)
      try await comeBack(ada: ada, grace: grace)
    } catch {
      await locked.server.shutdown()
      throw error
    }
    for firestore in [ada, grace] { try await firestore.terminate() }
    await locked.server.shutdown()
  }

  private func readAndWriteOnline(ada: Firestore, grace: Firestore) async throws {
    let plan = ["text": "her plan"]
    try await ada.document("\(notes(of: "ada"))/plan").setData(plan)
    let own = try await ada.collection(notes(of: "ada")).getDocuments(source: .server)
    narrator.check("ada's notes, read by ada over TLS", expected: ["plan"], found: own.documents.map(\.documentID))
    narrator.check(
      "the same note, read by grace", expected: "permission-denied",
      found: await code { _ = try await grace.document("\(notes(of: "ada"))/plan").getDocument(source: .server) })
    narrator.check(
      "grace's query for all notes of ada", expected: "permission-denied",
      found: await code { _ = try await grace.collection(notes(of: "ada")).getDocuments(source: .server) })
    narrator.check(
      "grace's listener to them", expected: "permission-denied",
      found: await code {
        for try await _ in grace.collection(notes(of: "ada")).snapshots { break }
      })
  }

  private func callWithoutToken(_ locked: LockedBackend) async throws {
    let stranger = try Device(
      name: "stranger", project: project, backend: locked.address, cache: nil,
      signedIn: SignedIn(certificateFile: locked.certificateFile, credentials: .anonymous))
    narrator.check(
      "the note, read without a token", expected: "permission-denied",
      found: await code {
        _ = try await stranger.firestore.document("\(notes(of: "ada"))/plan").getDocument(source: .server)
      })
    try await stranger.firestore.terminate()
  }

  private func writeOffline(ada: Firestore, grace: Firestore) async throws {
    for firestore in [ada, grace] { try await firestore.disableNetwork() }
    ada.document("\(notes(of: "ada"))/idea").setData(["text": "made offline"], completion: nil)
    grace.document("\(notes(of: "grace"))/first").setData(["text": "made offline, too"], completion: nil)
    grace.document("\(notes(of: "ada"))/plan").setData(["text": "changed by grace"], completion: nil)
    narrator.say("the network is cut: ada and grace write a note each, and grace writes over ada's")
    narrator.check(
      "grace's outbox: no rule can be asked offline", expected: OutboxText(batches: 2, writes: 2),
      found: OutboxText(try await grace.pendingWrites()))
    let shown = try await grace.document("\(notes(of: "ada"))/plan").getDocument(source: .cache)
    narrator.check(
      "ada's note, as grace's device shows it", expected: "changed by grace",
      found: shown.get("text") as? String ?? "nothing")
  }

  private func comeBack(ada: Firestore, grace: Firestore) async throws {
    for firestore in [ada, grace] {
      try await firestore.enableNetwork()
      try await firestore.waitForPendingWrites()
    }
    let own = try await grace.collection(notes(of: "grace")).getDocuments(source: .server)
    narrator.check("the network is back: grace's notes", expected: ["first"], found: own.documents.map(\.documentID))
    let refused = try await grace.rejectedWrites.writes()
    narrator.check(
      "grace's write to ada's note was refused, and is kept for her", expected: ["permission-denied"],
      found: refused.map { Self.name(of: $0.error) })
    narrator.check(
      "it was rolled back; ada's note, read from grace's cache", expected: "unavailable",
      found: await code {
        _ = try await grace.document("\(notes(of: "ada"))/plan").getDocument(source: .cache)
      })
    let found = try await ada.collection(notes(of: "ada")).getDocuments(source: .server)
    narrator.check(
      "ada's notes at the backend", expected: ["idea: made offline", "plan: her plan"],
      found: found.documents.map { "\($0.documentID): \($0.get("text") ?? "")" })
  }

  /// The name of the error with which something ends.
  private func code(_ body: () async throws -> Void) async -> String {
    do {
      try await body()
      return "no error"
    } catch {
      return Self.name(of: error as NSError)
    }
  }

  private static func name(of error: NSError) -> String {
    switch FirestoreErrorCode.Code(rawValue: error.code) {
    case .permissionDenied: "permission-denied"
    case .unauthenticated: "unauthenticated"
    case .unavailable: "unavailable"
    default: error.localizedDescription
    }
  }
}
