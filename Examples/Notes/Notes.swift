import Hearth

@main
struct Notes {
  static func main() async throws {
    FirebaseApp.configure(options: FirebaseOptions(projectID: "demo-notes"))
    let db = Firestore.firestore()
    db.useEmulator(withHost: "127.0.0.1", port: 8080)  // hearth serve; it need not be running
    try await db.disableNetwork()  // as on a train

    let notes = db.collection("notes")
    let listener = notes.order(by: "text").addSnapshotListener { snapshot, _ in
      print("listener: \(snapshot?.count ?? 0) notes")
    }
    notes.document("milk").setData(["text": "Buy milk", "at": FieldValue.serverTimestamp()]) { error in
      print("the backend has it:", error == nil)  // called once the network is back
    }
    notes.document("bread").setData(
      ["text": "Bake bread", "count": FieldValue.increment(Int64(1))], merge: true, completion: nil)

    for note in try await notes.getDocuments().documents {
      print(note.documentID, note.data(), "pending:", note.metadata.hasPendingWrites)
    }
    print("waiting for the network:", try await db.pendingWrites().count)
    listener.remove()
    try await db.terminate()
  }
}
