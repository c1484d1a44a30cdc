import Foundation
import Hummingbird

extension Item: ResponseEncodable {}

/// The routes of a worker.
///
/// | route | answer |
/// |---|---|
/// | `GET /items` | the items by name, and whether any may be missing |
/// | `POST /items` with `{"name": "…"}` | 202 when the item is on the disk of this machine, with or without a backend |
/// | `GET /healthz` | the worker's process, and how many writes wait for the backend |
struct ItemRoutes {
  /// The answer of `GET /items`.
  struct ItemList: ResponseEncodable {
    let items: [Item]
    let isComplete: Bool
  }

  /// The body of `POST /items`.
  struct NewItem: Decodable {
    let name: String
  }

  /// The answer of `GET /healthz`.
  struct Health: ResponseEncodable {
    let worker: Int32
    let waiting: Int
  }

  let store: ItemStore

  var router: Router<BasicRequestContext> {
    let store = store
    let router = Router()
    router.get("items") { _, _ in
      let (items, isComplete) = try await orUnavailable { try await store.all() }
      return ItemList(items: items, isComplete: isComplete)
    }
    router.post("items") { request, context in
      let new = try await request.decode(as: NewItem.self, context: context)
      guard !new.name.isEmpty else { throw HTTPError(.badRequest, message: "An item needs a name.") }
      let item = try await orUnavailable { try await store.add(name: new.name) }
      return EditedResponse(status: .accepted, response: item)
    }
    router.get("healthz") { _, _ in
      let waiting = try await orUnavailable { try await store.waiting() }
      return Health(worker: getpid(), waiting: waiting)
    }
    return router
  }
}

/// Answers 503 for errors of the database, with their text.
private func orUnavailable<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
  do {
    return try await body()
  } catch {
    throw HTTPError(.serviceUnavailable, message: error.localizedDescription)
  }
}
