import Hearth

/// The calls of the official guides "Get started", "Add data" and "Transactions and batched writes", in their shapes, on data of
/// our own. Tests run them against a server.
enum WritingGuides {
  // MARK: - Get started

  static func initialize() -> Firestore {
    FirebaseApp.configure()
    return Firestore.firestore()
  }

  static func emulator() {
    let settings = Firestore.firestore().settings
    settings.host = "127.0.0.1:8080"
    settings.cacheSettings = MemoryCacheSettings()
    settings.isSSLEnabled = false
    Firestore.firestore().settings = settings
  }

  static func firstDocuments(_ db: Firestore) async {
    do {
      let ref = try await db.collection("keepers").addDocument(data: [
        "first": "Grace",
        "last": "Darling",
        "born": 1815,
      ])
      print("Document added with ID: \(ref.documentID)")
    } catch {
      print("Error adding document: \(error)")
    }
    do {
      let ref = try await db.collection("keepers").addDocument(data: [
        "first": "Ida",
        "middle": "Walley",
        "last": "Lewis",
        "born": 1842,
      ])
      print("Document added with ID: \(ref.documentID)")
    } catch {
      print("Error adding document: \(error)")
    }
  }

  static func readThem(_ db: Firestore) async -> [String] {
    var lines: [String] = []
    do {
      let snapshot = try await db.collection("keepers").getDocuments()
      for document in snapshot.documents {
        lines.append("\(document.data()["last"] ?? "?")")
      }
    } catch {
      print("Error getting documents: \(error)")
    }
    return lines
  }

  // MARK: - Add data

  static func set(_ db: Firestore) async {
    do {
      try await db.collection("lights").document("LS").setData([
        "name": "Longstone",
        "sea": "North Sea",
        "country": "UK",
      ])
      print("Document successfully written!")
    } catch {
      print("Error writing document: \(error)")
    }
  }

  static func setWithCompletion(_ db: Firestore, _ done: @escaping (String) -> Void) {
    db.collection("lights").document("LS").setData(["name": "Longstone", "sea": "North Sea"]) { err in
      if let err = err {
        done("Error writing document: \(err)")
      } else {
        done("Document successfully written!")
      }
    }
  }

  static func dataTypes(_ db: Firestore) async {
    let docData: [String: Any] = [
      "stringExample": "Hello world!",
      "booleanExample": true,
      "numberExample": 3.14159265,
      "dateExample": Timestamp(date: Date()),
      "arrayExample": [5, true, "hello"],
      "nullExample": NSNull(),
      "objectExample": [
        "a": 5,
        "b": [
          "nested": "foo"
        ],
      ],
    ]
    do {
      try await db.collection("data").document("one").setData(docData)
    } catch {
      print("Error writing document: \(error)")
    }
  }

  static func merge(_ db: Firestore) {
    db.collection("lights").document("LS").setData(["built": 1826], merge: true)
  }

  static func addAndUseReference(_ db: Firestore) {
    let newLightRef = db.collection("lights").document()
    newLightRef.setData([
      "name": "Rubjerg Knude"
    ])
  }

  static func addWithCompletion(_ db: Firestore, _ done: @escaping (String) -> Void) {
    var ref: DocumentReference? = nil
    ref = db.collection("lights").addDocument(data: ["name": "Roter Sand", "sea": "North Sea"]) { err in
      if let err = err {
        done("Error adding document: \(err)")
      }
    }
    done(ref!.documentID)
  }

  static func update(_ db: Firestore) async {
    let lightRef = db.collection("lights").document("LS")
    do {
      try await lightRef.updateData([
        "automated": true
      ])
      try await lightRef.updateData([
        "lastVisit": FieldValue.serverTimestamp()
      ])
      try await lightRef.updateData([
        "lens.order": 1,
        "lens.maker": "Chance",
      ])
      try await lightRef.updateData([
        "signals": FieldValue.arrayUnion(["fog"])
      ])
      try await lightRef.updateData([
        "signals": FieldValue.arrayRemove(["bell"])
      ])
      try await lightRef.updateData([
        "visitors": FieldValue.increment(Int64(50))
      ])
    } catch {
      print("Error updating document: \(error)")
    }
  }

  static func remove(_ db: Firestore) async {
    do {
      try await db.collection("lights").document("LS").updateData([
        "automated": FieldValue.delete()
      ])
      try await db.collection("lights").document("gone").delete()
      print("Document successfully removed!")
    } catch {
      print("Error removing document: \(error)")
    }
  }

  static func removeWithCompletion(_ db: Firestore, _ done: @escaping (String) -> Void) {
    db.collection("lights").document("gone").delete { err in
      done(err.map { "Error removing document: \($0)" } ?? "Document successfully removed!")
    }
  }

  // MARK: - Transactions and batched writes

  static func transaction(_ db: Firestore) async {
    let lightRef = db.collection("lights").document("LS")
    do {
      let _ = try await db.runTransaction({ (transaction, errorPointer) -> Any? in
        let lightDocument: DocumentSnapshot
        do {
          try lightDocument = transaction.getDocument(lightRef)
        } catch let fetchError as NSError {
          errorPointer?.pointee = fetchError
          return nil
        }

        guard let oldVisitors = lightDocument.data()?["visitors"] as? Int else {
          let error = NSError(
            domain: "AppErrorDomain",
            code: -1,
            userInfo: [
              NSLocalizedDescriptionKey: "Unable to retrieve visitors from snapshot \(lightDocument)"
            ]
          )
          errorPointer?.pointee = error
          return nil
        }

        transaction.updateData(["visitors": oldVisitors + 1], forDocument: lightRef)
        return nil
      })
      print("Transaction successfully committed!")
    } catch {
      print("Transaction failed: \(error)")
    }
  }

  static func transactionWithResult(_ db: Firestore) async -> Int? {
    let lightRef = db.collection("lights").document("LS")
    do {
      let object = try await db.runTransaction({ (transaction, errorPointer) -> Any? in
        let document: DocumentSnapshot
        do {
          try document = transaction.getDocument(lightRef)
        } catch let fetchError as NSError {
          errorPointer?.pointee = fetchError
          return nil
        }
        let visitors = (document.data()?["visitors"] as? Int ?? 0) + 1
        guard visitors <= 52 else {
          errorPointer?.pointee = NSError(
            domain: "AppErrorDomain", code: -2, userInfo: [NSLocalizedDescriptionKey: "\(visitors) are too many"])
          return nil
        }
        transaction.updateData(["visitors": visitors], forDocument: lightRef)
        return visitors
      })
      return object as? Int
    } catch {
      print("Error updating visitors: \(error)")
      return nil
    }
  }

  static func transactionWithCompletion(_ db: Firestore, _ done: @escaping (String) -> Void) {
    let lightRef = db.collection("lights").document("LS")
    db.runTransaction({ (transaction, errorPointer) -> Any? in
      transaction.updateData(["open": true], forDocument: lightRef)
      return nil
    }) { (object, error) in
      if let error = error {
        done("Transaction failed: \(error)")
      } else {
        done("Transaction successfully committed!")
      }
    }
  }

  static func batch(_ db: Firestore) async {
    let batch = db.batch()

    let newRef = db.collection("lights").document("NW")
    batch.setData([:], forDocument: newRef)

    let knownRef = db.collection("lights").document("LS")
    batch.updateData(["visitors": 1_000], forDocument: knownRef)

    let goneRef = db.collection("lights").document("RK")
    batch.deleteDocument(goneRef)

    do {
      try await batch.commit()
      print("Batch write succeeded.")
    } catch {
      print("Error writing batch: \(error)")
    }
  }

  static func batchWithCompletion(_ db: Firestore, _ done: @escaping (String) -> Void) {
    let batch = db.batch()
    batch.setData(["name": "Anholt"], forDocument: db.collection("lights").document("AN"))
    batch.commit { err in
      done(err.map { "Error writing batch \($0)" } ?? "Batch write succeeded.")
    }
  }
}
