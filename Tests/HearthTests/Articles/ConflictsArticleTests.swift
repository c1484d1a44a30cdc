import Foundation
import Testing

@testable import Hearth

/// The programs of the article "When two devices change the same document".
@Suite("The article on conflicts", .timeLimit(.minutes(2)))
struct ConflictsArticleTests {
  let article: Article

  init() throws {
    article = try Article("ResolvingConflicts")
  }

  @Test("shows code that is compiled and run here, and printed text that is checked here")
  func blocks() throws {
    #expect(try article.codeNotCompiled(in: #filePath) == [])
    #expect(try article.printedNotChecked(in: #filePath) == [])
  }

  /// Two devices that have read a document, lost the network, and have these rules.
  private func withDevices(
    _ path: String, _ data: [String: Any], _ configure: (Firestore) -> Void,
    _ body: (_ phone: Firestore, _ tablet: Firestore) async throws -> Void
  ) async throws {
    try await TestBackend.run { host in
      var devices: [Firestore] = []
      for _ in 0..<2 {
        let db = try TestFirestore(host: host).firestore
        configure(db)
        devices.append(db)
      }
      try await devices[0].document(path).setData(data)
      for device in devices {
        _ = try await device.document(path).getDocument(source: .server)
        try await device.disableNetwork()
      }
      try await body(devices[0], devices[1])
      for device in devices { try await device.terminate() }
    }
  }

  @Test("two devices change different fields of a document offline, and both changes stay")
  func merged() async throws {
    let print = Printout()
    func configure(_ db: Firestore) {
      let settings = db.settings
      settings.conflictRules = [.collection("todos", .mergeFields)]
      db.settings = settings
    }
    try await withDevices("todos/tea", ["title": "tea", "done": false], configure) { phone, tablet in
      phone.document("todos/tea").updateData(["done": true], completion: nil)
      tablet.document("todos/tea").setData(["title": "green tea", "done": false], completion: nil)

      for device in [phone, tablet] {
        try await device.enableNetwork()
        try await device.waitForPendingWrites()
      }
      let todo = try await phone.document("todos/tea").getDocument(source: .server)
      print(todo["title"] ?? "", todo["done"] as? Bool ?? false)
    }
    #expect(print.lines == article.printed("Field by field"))
  }

  @Test("the device whose write met the conflict learns what was dropped")
  func dropped() async throws {
    let print = Printout()
    func configure(_ db: Firestore) {
      let settings = db.settings
      settings.conflictRules = [.collection("todos", .mergeFields)]
      db.settings = settings
    }
    try await withDevices("todos/tea", ["title": "tea", "done": false], configure) { phone, tablet in
      phone.document("todos/tea").updateData(["title": "green tea", "done": true], completion: nil)
      let receipt = tablet.document("todos/tea").withReceipt.updateData(["title": "black tea"])
      for device in [phone, tablet] {
        try await device.enableNetwork()
        try await device.waitForPendingWrites()
      }
      for field in try await receipt.acknowledged().conflicts.flatMap(\.fields) {
        guard case .string(let local)? = field.local, case .string(let remote)? = field.remote else { continue }
        print("\(field.name): \(remote) has given way to \(local)")
      }

      for conflict in try await tablet.resolvedConflicts.conflicts() where conflict.dropped.contains(.remote) {
        print("\(conflict.document.path): an edit of another device was replaced")
        try await tablet.resolvedConflicts.discard(conflict.id)
      }
      #expect(try await tablet.resolvedConflicts.conflicts().isEmpty)
      #expect(try await phone.resolvedConflicts.conflicts().isEmpty)
    }
    #expect(print.lines == article.printed("What has given way"))
  }

  @Test("a resolver of the program merges two texts")
  func custom() async throws {
    func configure(_ db: Firestore) {
      let settings = db.settings
      settings.conflictRules = [
        .collection(
          "notes",
          .custom { conflict in
            let local = conflict.local["text"] as? String ?? ""
            let remote = conflict.remote["text"] as? String ?? ""
            var fields = conflict.remote.fieldMap() ?? [:]
            fields["text"] = .string("\(remote) / \(local)")
            return .merged(fields)
          })
      ]
      db.settings = settings
    }
    try await withDevices("notes/a", ["text": "draft", "starred": true], configure) { phone, tablet in
      phone.document("notes/a").updateData(["text": "phone"], completion: nil)
      tablet.document("notes/a").updateData(["text": "tablet"], completion: nil)
      for device in [phone, tablet] {
        try await device.enableNetwork()
        try await device.waitForPendingWrites()
      }
      let note = try await phone.document("notes/a").getDocument(source: .server)
      #expect(note["text"] as? String == "phone / tablet")
      #expect(note["starred"] as? Bool == true)
    }
  }
}
