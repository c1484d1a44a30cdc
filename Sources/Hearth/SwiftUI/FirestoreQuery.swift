#if canImport(SwiftUI)
  internal import Combine
  public import SwiftUI

  /// Shows the decoded documents of a collection in a SwiftUI view, and updates them after each change.
  ///
  /// ```swift
  /// struct Cities: View {
  ///   @FirestoreQuery(collectionPath: "cities", predicates: [.order(by: "name")]) var cities: [City]
  ///   var body: some View { List(cities) { Text($0.name) } }
  /// }
  /// ```
  ///
  /// It listens on the default app's database while the view is shown.
  @MainActor
  @propertyWrapper
  public struct FirestoreQuery<T>: DynamicProperty {
    /// The query of the property wrapper. Changing it starts a new listener.
    public struct Configuration {
      /// The collection's path.
      public var path: String
      /// Conditions, orders and limits.
      public var predicates: [QueryPredicate]
      /// The treatment of documents that cannot be decoded.
      public var decodingFailureStrategy: DecodingFailureStrategy = .raise
      /// The listener's error, or the error of the last document that could not be decoded.
      public var error: (any Error)?
      /// The animation with which the view changes.
      public var animation: Animation?
    }

    @StateObject private var listening: FirestoreQueryListening<T>

    /// The decoded documents.
    public var wrappedValue: T { listening.items }

    /// The configuration.
    public var projectedValue: Configuration {
      get { listening.configuration }
      nonmutating set { listening.restart(with: newValue) }
    }

    /// Shows the documents that can be decoded.
    public init<U: Decodable>(
      collectionPath: String, predicates: [QueryPredicate] = [],
      decodingFailureStrategy: DecodingFailureStrategy = .raise, animation: Animation? = nil
    ) where T == [U] {
      let configuration = Configuration(
        path: collectionPath, predicates: predicates, decodingFailureStrategy: decodingFailureStrategy,
        animation: animation)
      _listening = StateObject(
        wrappedValue: FirestoreQueryListening(configuration, empty: []) { items, _ in items as [U] })
    }

    /// Shows the documents, or the error.
    public init<U: Decodable>(
      collectionPath: String, predicates: [QueryPredicate] = [],
      decodingFailureStrategy: DecodingFailureStrategy = .raise, animation: Animation? = nil
    ) where T == Result<[U], any Error> {
      let configuration = Configuration(
        path: collectionPath, predicates: predicates, decodingFailureStrategy: decodingFailureStrategy,
        animation: animation)
      _listening = StateObject(
        wrappedValue: FirestoreQueryListening(configuration, empty: .success([])) { items, error in
          error.map { .failure($0) } ?? .success(items as [U])
        })
    }
  }

  /// The listener behind a view's property.
  @MainActor
  final class FirestoreQueryListening<T>: ObservableObject {
    @Published private(set) var items: T
    private(set) var configuration: FirestoreQuery<T>.Configuration
    private let update: (FirestoreQueryListening<T>, QuerySnapshot?, (any Error)?) -> Void
    private var task: Task<Void, Never>?

    init<U: Decodable>(
      _ configuration: FirestoreQuery<T>.Configuration, empty: T, result: @escaping ([U], (any Error)?) -> T
    ) {
      self.configuration = configuration
      items = empty
      update = { listening, snapshot, error in
        var decoded: [U] = []
        var failure = error
        for document in snapshot?.documents ?? [] {
          do { decoded.append(try document.data(as: U.self)) } catch { failure = error }
        }
        // The strategy is about documents that cannot be decoded; the end of a listener is always reported.
        let isRaised = error != nil || listening.configuration.decodingFailureStrategy == .raise && failure != nil
        listening.configuration.error = failure
        withAnimation(listening.configuration.animation) {
          listening.items = result(isRaised ? [] : decoded, isRaised ? failure : nil)
        }
      }
      listen()
    }

    deinit { task?.cancel() }

    func restart(with configuration: FirestoreQuery<T>.Configuration) {
      self.configuration = configuration
      listen()
    }

    private func listen() {
      task?.cancel()
      let snapshots = Firestore.firestore().collection(configuration.path).applying(configuration.predicates).snapshots
      task = Task { [weak self] in
        do {
          for try await snapshot in snapshots { self.map { $0.update($0, snapshot, nil) } }
        } catch {
          self.map { $0.update($0, nil, error) }
        }
      }
    }
  }
#endif
