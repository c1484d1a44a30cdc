package import HearthModel
internal import HearthWire

/// One database: its storage, its open transactions and the translation of its messages.
package final class HostedDatabase: Sendable {
  package let id: DatabaseID
  package let storage: any ServerStorage
  package let transactions: TransactionRegistry
  let translator: WireTranslator

  package init(id: DatabaseID, storage: any ServerStorage, clock: ServerClock) {
    self.id = id
    self.storage = storage
    self.transactions = TransactionRegistry(clock: clock)
    self.translator = WireTranslator(database: id)
  }
}
