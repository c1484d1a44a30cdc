import Foundation
import Testing

@testable import Hearth

/// The programs of the articles "Knowing that a write is safe" and "Looking into the outbox".
@Suite("The articles on receipts and the outbox", .timeLimit(.minutes(2)))
struct OutboxArticleTests {
  let receipts: Article
  let outbox: Article

  init() throws {
    receipts = try Article("WriteReceipts")
    outbox = try Article("TheOutbox")
  }

  @Test("show code that is compiled and run here, and printed text that is checked here")
  func blocks() throws {
    for article in [receipts, outbox] {
      #expect(try article.codeNotCompiled(in: #filePath) == [])
      #expect(try article.printedNotChecked(in: #filePath) == [])
    }
  }

  @Test("a receipt says saved offline and acknowledged online")
  func saved() async throws {
    let print = Printout()
    try await ArticleCities.runOffline { db, _ in
      let order = db.collection("orders").document("17")
      let receipt = order.withReceipt.setData(["item": "tea", "sold": FieldValue.increment(Int64(1))])
      try await receipt.saved()
      print("saved on this device")

      try await db.enableNetwork()
      let answer = try await receipt.acknowledged()
      print("committed:", answer.commitTime != nil, "sold:", answer.results.first?.transformResults ?? [])
    }
    #expect(print.lines == receipts.printed("Saved, and acknowledged"))
  }

  @Test("a receipt is found again by its id")
  func found() async throws {
    let print = Printout()
    try await ArticleCities.runOffline { db, _ in
      let stored = db.document("orders/17").withReceipt.setData(["item": "tea"]).id.description
      guard let id = WriteReceipt.ID(stored) else { return }
      switch try await db.receipt(for: id)?.state {
      case .saved: print("waits for the backend")
      case .acknowledged: print("the backend has it")
      case .failed(let error): print("refused:", error.localizedDescription)
      case .unsaved: print("not on disk yet")
      case nil: print("unknown: never made on this device, or answered more than 30 days ago")
      }
    }
    #expect(print.lines == receipts.printed("After a restart"))
  }

  @Test("the outbox is listed and observed until it is empty")
  func observed() async throws {
    let print = Printout()
    try await ArticleCities.runOffline { db, _ in
      db.document("readings/1").setData(["celsius": 21.5], completion: nil)
      db.document("readings/1").updateData(["checked": true], completion: nil)
      for write in try await db.outbox.writes() {
        print(write.operations.map(\.description), write.state)
      }

      for try await snapshot in db.outbox.snapshots {
        print("waiting:", snapshot.writes.count)
        if snapshot.writes.isEmpty { break }
        try await db.enableNetwork()
      }
    }
    #expect(print.lines.first?.hasPrefix("[\"set readings/1\"] blocked(") == true)
    #expect(print.lines.dropFirst().first?.hasPrefix("[\"update readings/1: checked\"] blocked(") == true)
    #expect(print.lines.contains("waiting: 2") && print.lines.last == "waiting: 0")
  }

  @Test("a write is taken back, and increments behind it start from what is left")
  func cancelled() async throws {
    let print = Printout()
    try await ArticleCities.runOffline { db, _ in
      db.document("counters/visits").setData(["n": 10], completion: nil)
      try await db.enableNetwork()
      try await db.waitForPendingWrites()
      try await db.disableNetwork()
      let counter = db.document("counters/visits")
      counter.updateData(["n": FieldValue.increment(Int64(5))], completion: nil)
      counter.updateData(["n": FieldValue.increment(Int64(3))], completion: nil)
      print("with both:", try await counter.getDocument()["n"] ?? "")

      guard let first = try await db.outbox.writes().first else { return }
      try await db.outbox.cancel(first.id)
      print("without the first:", try await counter.getDocument()["n"] ?? "")
    }
    #expect(print.lines == outbox.printed("Taking a write back"))
  }

  @Test("a refused write is kept, and handed in again")
  func refused() async throws {
    let print = Printout()
    try await ArticleCities.runOffline { db, _ in
      db.document("readings/7").updateData(["checked": true], completion: nil)
      try await db.enableNetwork()
      try await db.waitForPendingWrites()
      for write in try await db.rejectedWrites.writes() {
        print(write.operations.map(\.description), write.error.localizedDescription)
      }

      db.document("readings/7").setData(["celsius": 20.0], completion: nil)
      for write in try await db.rejectedWrites.writes() {
        try await db.rejectedWrites.resubmit(write.id).acknowledged()
      }
      print("refused:", try await db.rejectedWrites.writes().count)
    }
    #expect(print.lines == outbox.printed("What the backend has refused"))
  }

  @Test("the policy for writes that block the others is part of the settings")
  func policy() throws {
    let name = "outbox-policy-\(UUID().uuidString)"
    FirebaseApp.configure(name: name, options: FirebaseOptions(projectID: "demo-hearth"))
    let db = Firestore.firestore(app: try #require(FirebaseApp.app(name: name)))
    let settings = FirestoreSettings()
    settings.outbox.undeliverable = .init(afterRefusals: 5, largerThanBytes: 1_000_000)
    settings.outbox.rejectedWriteLimit = 200
    db.settings = settings
    #expect(db.settings.outbox == settings.outbox)
    let copy = settings.copy() as? FirestoreSettings
    #expect(copy?.outbox == settings.outbox && copy == settings)
    #expect(FirestoreSettings() != settings)
    #expect(settings.outbox.rejectedWriteLimit == 200)
  }
}
