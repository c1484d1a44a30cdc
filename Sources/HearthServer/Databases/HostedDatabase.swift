internal import HearthModel
internal import HearthWire

/// One database: its storage, its open transactions and the translation of its messages.
final class HostedDatabase: Sendable {
  let id: DatabaseID
  let storage: any ServerStorage
  let transactions: TransactionRegistry
  let translator: WireTranslator

  init(id: DatabaseID, storage: any ServerStorage, clock: ServerClock) {
    self.id = id
    self.storage = storage
    self.transactions = TransactionRegistry(clock: clock)
    self.translator = WireTranslator(database: id)
  }
}
