/// A type of documents whose properties can stand for fields in queries. See ``TypedQuery``.
///
/// ```swift
/// struct City: Codable, QueryableModel {
///   @DocumentID var id: String?
///   var name: String
///   var population: Int?
///   var tags: [String]
///   static let fieldTable: FieldTable<City> = [
///     \.id: .documentID, \.name: "name", \.population: "population", \.tags: "tags",
///   ]
/// }
/// ```
public protocol QueryableModel: Decodable, Sendable {
  /// The fields that queries may name. A query that names a property without an entry fails.
  static var fieldTable: FieldTable<Self> { get }
  /// Encodes the operands of conditions. It must give values the form that they have in documents. By default `Firestore.Encoder()`.
  static var documentEncoder: Firestore.Encoder { get }
  /// Decodes the documents. By default `Firestore.Decoder()`.
  static var documentDecoder: Firestore.Decoder { get }
}

extension QueryableModel {
  /// An encoder with the default settings.
  public static var documentEncoder: Firestore.Encoder { Firestore.Encoder() }
  /// A decoder with the default settings.
  public static var documentDecoder: Firestore.Decoder { Firestore.Decoder() }
}
