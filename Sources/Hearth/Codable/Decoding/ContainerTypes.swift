internal import Synchronization

/// A keyed container that can be created for a decoder without knowing its type.
protocol StoredContainer<Key>: KeyedDecodingContainerProtocol {
  init(decoder: StoredDecoder)
}

/// The types of keyed containers by their type of keys.
///
/// Naming `KeyedStoredContainer<Key>` makes the runtime look up the type and its conformances, in tables where it counts readers: with two
/// threads these counts took a fifth of the time of decoding. Here a type that was found before is found again without writing to memory
/// that other threads read.
enum ContainerTypes {
  private enum State {
    static let empty: UInt8 = 0
    static let filling: UInt8 = 1
    static let filled: UInt8 = 2
  }

  private struct Entry {
    let key: ObjectIdentifier
    let type: any StoredContainer.Type
  }

  private static let slotBits = 10

  /// The state of every slot. A slot is filled once, by the thread that made it `filling`, and never emptied: types live as long as the
  /// process.
  // The pointer's memory is only accessed by atomic operations.
  nonisolated(unsafe) private static let states: UnsafeMutablePointer<Atomic<UInt8>> = {
    let states = UnsafeMutablePointer<Atomic<UInt8>>.allocate(capacity: 1 << slotBits)
    for slot in 0..<1 << slotBits { (states + slot).initialize(to: Atomic(State.empty)) }
    return states
  }()

  // An entry is written before its state is stored as `filled`, with releasing order. It is read only after `filled` was loaded, with
  // acquiring order, and never written again.
  nonisolated(unsafe) private static let entries = UnsafeMutablePointer<Entry>.allocate(capacity: 1 << slotBits)

  /// The type of containers with these keys.
  static func type<Key: CodingKey>(for key: Key.Type) -> any StoredContainer<Key>.Type {
    let id = ObjectIdentifier(key)
    let hash = UInt64(UInt(bitPattern: id)) &* 0x9E37_79B9_7F4A_7C15
    let slot = Int(hash >> UInt64(64 - slotBits))
    let state = states + slot
    if state.pointee.load(ordering: .acquiring) == State.filled {
      let entry = entries + slot
      // Another type has the slot: this one is looked up each time.
      guard entry.pointee.key == id else { return KeyedStoredContainer<Key>.self }
      // The same type, whose keys are `Key` because they have its identity. (`as` passes the existential, not what is in it.) Both
      // sides are a pointer to the type and one to its conformance to `StoredContainer`; `<Key>` narrows what the compiler lets in
      // and adds nothing to store.
      return unsafeBitCast(
        entry.pointee.type as any StoredContainer.Type, to: (any StoredContainer<Key>.Type).self)
    }
    let isMine = state.pointee.compareExchange(
      expected: State.empty, desired: State.filling, ordering: .acquiring
    ).exchanged
    if isMine {
      (entries + slot).initialize(to: Entry(key: id, type: KeyedStoredContainer<Key>.self))
      state.pointee.store(State.filled, ordering: .releasing)
    }
    return KeyedStoredContainer<Key>.self
  }

  /// A container of the type for a decoder.
  static func container<Key, Container: StoredContainer<Key>>(
    _ type: Container.Type, of decoder: StoredDecoder
  ) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(Container(decoder: decoder))
  }
}
