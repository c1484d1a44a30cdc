internal import Foundation
internal import HearthModel
internal import HearthTransport

/// A service account that signs its own tokens, if the package was built with them.
struct Account: CredentialsProvider {
  let projectID: String?

  #if ServiceAccounts
    private let tokens: ServiceAccountTokens

    init(contentsOfFile path: String) throws(DataError) {
      do {
        let account = try ServiceAccount(contentsOfFile: path)
        projectID = account.projectID
        tokens = ServiceAccountTokens(account) { Date() }
      } catch {
        throw DataError("--credentials: \(error.message)")
      }
    }

    func token() async throws -> AccessToken? { AccessToken(try await tokens.token(forcingRefresh: false)) }
  #else
    init(contentsOfFile path: String) throws(DataError) {
      throw DataError(
        "--credentials \"\(path)\": this program was built without the package trait ServiceAccounts. Use --token instead."
      )
    }

    func token() async -> AccessToken? { nil }
  #endif

  /// The next token is signed anew when the present one expires; a refused one means that the account may not do what it asked.
  func invalidate(_ token: AccessToken?) {}
}
