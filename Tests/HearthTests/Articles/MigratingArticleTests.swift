import Foundation
import Hearth
import Synchronization
import Testing

/// Stands in for the product of Firebase that the article's reader keeps: the members that the article uses.
private final class Auth: Sendable {
  struct User: Sendable {
    var uid: String

    func getIDToken(forcingRefresh: Bool) async throws -> String { "token of \(uid)" }
  }

  private struct State {
    var user: User?
    var listeners: [@Sendable (Auth, User?) -> Void] = []
  }

  private static let shared = Auth()
  private let state = Mutex(State())

  static func auth() -> Auth { shared }

  var currentUser: User? { state.withLock { $0.user } }

  func addStateDidChangeListener(_ listener: @escaping @Sendable (Auth, User?) -> Void) -> Int {
    state.withLock { state in
      state.listeners.append(listener)
      return state.listeners.count
    }
  }

  func signIn(_ uid: String?) {
    let (user, listeners) = state.withLock { state in
      state.user = uid.map(User.init)
      return (state.user, state.listeners)
    }
    for listener in listeners { listener(self, user) }
  }
}

/// The code of the article "Coming from the official SDK".
private enum Migrating {
  static func signIn() -> IDTokenCredentials {
    let credentials = IDTokenCredentials(userID: Auth.auth().currentUser?.uid) { forcingRefresh in
      guard let user = Auth.auth().currentUser else { return nil }
      return IDToken(try await user.getIDToken(forcingRefresh: forcingRefresh), userID: user.uid)
    }
    let settings = Firestore.firestore().settings
    settings.credentials = credentials
    Firestore.firestore().settings = settings
    _ = Auth.auth().addStateDidChangeListener { _, user in credentials.setUser(user?.uid) }
    return credentials
  }
}

extension DefaultAppArticles {
  @Suite("The article \"Coming from the official SDK\"")
  struct MigratingArticleTests {
    @Test("shows code that is compiled")
    func code() throws {
      let article = try Article("Migrating")
      #expect(article.blocks("swift").count == 1)
      #expect(try article.codeNotCompiled(in: #filePath) == [])
    }

    @Test("its lines for signing in follow the user")
    func signIn() async throws {
      FirebaseApp.configure(options: FirebaseOptions(projectID: "my-project"))
      Auth.auth().signIn("alice")
      let credentials = Migrating.signIn()
      #expect(credentials.userID == "alice" && Firestore.firestore().settings.credentials === credentials)
      #expect(try await credentials.accessToken(forcingRefresh: false) == "token of alice")
      Auth.auth().signIn("bob")
      #expect(credentials.userID == "bob")
      #expect(try await credentials.accessToken(forcingRefresh: false) == "token of bob")
      Auth.auth().signIn(nil)
      #expect(credentials.userID == nil)
      #expect(try await credentials.accessToken(forcingRefresh: false) == nil)
      await FirebaseApp.app()?.delete()
    }

    @Test("every difference has a test that is there, or is one for the compiler, and each proof has its difference")
    func differences() throws {
      let text = try Article.text("Sources/Hearth/Hearth.docc/Migrating.md")
      var situations: [String] = []
      var isTable = false
      for line in Article.lines(text) {
        if line.hasPrefix("| situation | official SDK | Hearth |") {
          isTable = true
        } else if !line.hasPrefix("|") {
          isTable = false
        } else if isTable, !line.hasPrefix("|---") {
          let cells = line.split(separator: " | ")
          #expect(cells.count == 3, "\(line)")
          situations.append(String(cells[0].dropFirst(2)))
        }
      }
      #expect(situations.count > 60)
      #expect(Set(situations).count == situations.count)
      let proofs = DifferenceProof.all
      for situation in situations {
        #expect(proofs.contains { $0.situation == situation }, "\(situation): no proof")
      }
      for proof in proofs {
        #expect(situations.contains(proof.situation), "\(proof.situation): not in the article")
        for (file, title) in proof.tests {
          let source = try? Article.text("Tests/\(file).swift")
          #expect(
            source?.contains("\"\(title)\"") == true, "\(proof.situation): no test \"\(title)\" in Tests/\(file).swift")
        }
      }
    }

    @Test("names the platforms and the tools of the manifest")
    func platforms() throws {
      let text = try Article.text("Sources/Hearth/Hearth.docc/Migrating.md")
      let manifest = try Article.text("Package.swift")
      #expect(manifest.contains("platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)]"))
      #expect(text.contains("macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2"))
      #expect(manifest.hasPrefix("// swift-tools-version: 6.2") && text.contains("with Swift 6.2 or newer"))
    }
  }
}
