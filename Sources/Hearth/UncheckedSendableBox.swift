/// Carries a value that the compiler cannot prove safe across a boundary where the library itself ensures safety.
///
/// The public API takes plain closures, because applications capture state of their own queue in them, as with the official SDK. Such a
/// closure is stored here and called only on `settings.dispatchQueue`, one call at a time; the library neither calls it elsewhere nor
/// looks into its captures. Immutable values (`userInfo`) are never changed after initialisation.
struct UncheckedSendableBox<Wrapped>: @unchecked Sendable {
  let value: Wrapped

  init(_ value: Wrapped) {
    self.value = value
  }
}
