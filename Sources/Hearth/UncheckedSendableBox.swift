/// Carries a value from one thread to another where the compiler cannot prove that this is safe. The library ensures it.
///
/// The box only holds a constant; each kind of content is safe for a reason of its own:
/// - *Completions and listeners.* The public API takes plain closures, because applications capture state of their own queue in them, as
///   with the official SDK. The library calls such a closure only on the queue that its documentation names (the settings' queue; the main
///   queue for `FirebaseApp.delete`). An application that chooses a concurrent queue promises that the closure may run on several threads.
/// - *Blocks of transactions* run on a thread of the library, as documented: each attempt begins after the former one has ended.
/// - *Results of such blocks* are passed on by one holder to the next, up to the completion, and not looked at on the way.
/// - *Input streams* are used by one reader: each use begins after the former one has ended, on a queue or thread that is started
///   for it.
struct UncheckedSendableBox<Wrapped>: @unchecked Sendable {
  let value: Wrapped

  init(_ value: Wrapped) {
    self.value = value
  }
}
