public import Observation

/// The state of a client for an interface: a SwiftUI view that reads ``status`` is redrawn after each change. Addition to the official API.
///
/// ```swift
/// struct SyncLabel: View {
///   @State private var model = FirestoreStatusModel(Firestore.firestore())
///   var body: some View {
///     switch model.status?.connection {
///     case .inSync: Text("Up to date")
///     case .connecting, nil: Text("Connecting")
///     case .offline: Text("Offline")
///     }
///   }
/// }
/// ```
///
/// It follows the client as long as it exists, on every platform.
@MainActor
@Observable
public final class FirestoreStatusModel {
  /// The state; nil until the client has started, which takes a moment.
  public private(set) var status: FirestoreStatus?
  /// The error that has ended the observation: `cancelled` when the client was terminated, otherwise an error of the cache. ``status``
  /// keeps its last value.
  public private(set) var error: (any Error)?
  @ObservationIgnored private var task: Task<Void, Never>?

  /// Begins to follow the client, and starts it.
  public init(_ firestore: Firestore) {
    let subscription = firestore.observeStatus()
    task = Task { [weak self] in
      do {
        while let status = try await subscription.next() {
          guard let self else { return }
          if self.status != status { self.status = status }
        }
      } catch {
        self?.error = error
      }
    }
  }

  deinit { task?.cancel() }
}
