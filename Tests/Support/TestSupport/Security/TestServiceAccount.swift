package import Foundation

/// A service account for the tests alone. Its key opens nothing.
package enum TestServiceAccount {
  package static let email = "tester@demo-hearth.iam.gserviceaccount.com"
  package static let keyID = "test-key-1"

  /// RSA, 2048 bits.
  package static let privateKey = """
    -----BEGIN PRIVATE KEY-----
    MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDklAEkTPFaQanw
    YaG37rH1Oxpsbsuwm0QFlLZ7WwU0npN68yvQRZ5IN7KH6J8Fat6iIFk71DSJ6NjY
    uE4WC+vn8jDpxBwU96n4SJHCyvrbJFkItHwyoC/xAc0Lram149VhuYpVrj7yzoZt
    t2sH66ETEJ7vTaZBiI1rddjyUQ/uSVgbOy1z/XpsyGOFq2yoffx/s0UDxQo3Cl8v
    lKEHVjoHFFX+BuypvXkfWPKHqvWoOm62WtDCYH763d8pReuEScl+6FzxYfea1y0/
    5Dk2cToyln1Deuw+sR4CIPFu6mTYD984dL+DSGRkb8oPWQ2DZ6mjFHSWBxTvrNFk
    UryWRW9VAgMBAAECggEACXc/nNs623wAp53DbrSJ1hf+fiMQeF3VsU15SR551rYC
    cYMEe3mGloMH96zgeP71/UzNpTaifluQL1liknMn79ENyYB/kTa4aTnIH4L8ZHra
    3QtsYURU9+wVK7ijYI7w1T0zx1yR6sg2tPB1lDxjzUBQ9KQIkIoxIRQeSdqliD6Z
    RkWv/qc7hbzml0gEen3HtckjLmqsaFBdSu/bk36Wrbm7UCc9z+wT0nFZzY+t7Dao
    p881l8RCTsQ7eKS+/8jSCbX1O5Tx6Oq38wAABdjZIywxxxCY6EL6JkjQkcq64Bjv
    vxDFnSorHTXY3xmR5vV43RdfcmXUV6Dih/uABUZN+QKBgQD4/fTA3tJjGa+Eg+gn
    FNFr6SCZ4fOHYZOtH1bktFpFAmZehYpEKkMIlCFMliFx76bizoga3YhVUJ4qHi1I
    70DDXOECb3CtCNzajSHZKUerkK15EAxCHGTbyEXkwUob6E4pRrX4iykmynHGS/4w
    MxC2LL5pk7PDHzPVjirSiDL3WwKBgQDrAvY43CyVcN0563HMCY6M2yl/mH5tPARo
    7r3IFOcAHnxxKWPCbA6+aGUXDF/fCdSMnbIhVUtr+T4s8WtMUYPaUNCOPdKWzGaG
    +zTKRs65E7rlVPoUpBnZmBcmFsVi5HSRKDdzNsZcCHOJbXoWDEumD+BGFCCApqo0
    6ob+i36jDwKBgQCPryVdY3gvHfRuWRxP6TCMwCRDCOPavRFWNx6Srgzlg+QFKbTH
    b0ftnGW252/3at94RMzADBUPfo03KuDhFMfftSpXmG2CPPoN2KGuyqaEN+ITWZJp
    WC9PsTu8LVqRzjXElfyOp+egbfTIBLRzphQ/vIRJMqXqtIfZ9cd6ZIRcvwKBgHfj
    feqJ37Co8CKxCs+U/IS89VGjYLOnD3TcfjKI/0MfSkqMW9j+ORNHvHJinLHymNzX
    Qd0hXyWI9AAHdL5tQz9nRM2bmkfVpGQt2MNsFd9ywkBl9mH7STipDv4eVbnaY+D9
    TDRZeB3RLeeo0sRWp2zi4n29nMskuuXd0toeHY9fAoGAPjf6UZaYQXL5dCEa2XJF
    fW/eBG4s+qlhjF4bDBMEsdVWuiZ0GPThb7gwUzlS03ITks8036V1QDVW5Gd4Z/yv
    lq1ewybiT/NV/9sC5f4/2v0L6ppr+ie4QbFQZnsh/LtxMb9mygnH4HWP1Y19brmf
    ky2Dut8FNFywFTn8QLAPQKE=
    -----END PRIVATE KEY-----
    """

  /// The public half of ``privateKey``.
  package static let publicKey = """
    -----BEGIN PUBLIC KEY-----
    MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA5JQBJEzxWkGp8GGht+6x
    9TsabG7LsJtEBZS2e1sFNJ6TevMr0EWeSDeyh+ifBWreoiBZO9Q0iejY2LhOFgvr
    5/Iw6cQcFPep+EiRwsr62yRZCLR8MqAv8QHNC62ptePVYbmKVa4+8s6GbbdrB+uh
    ExCe702mQYiNa3XY8lEP7klYGzstc/16bMhjhatsqH38f7NFA8UKNwpfL5ShB1Y6
    BxRV/gbsqb15H1jyh6r1qDputlrQwmB++t3fKUXrhEnJfuhc8WH3mtctP+Q5NnE6
    MpZ9Q3rsPrEeAiDxbupk2A/fOHS/g0hkZG/KD1kNg2epoxR0lgcU76zRZFK8lkVv
    VQIDAQAB
    -----END PUBLIC KEY-----
    """

  /// RSA, 1024 bits: too short to be taken.
  package static let shortPrivateKey = """
    -----BEGIN PRIVATE KEY-----
    MIICeQIBADANBgkqhkiG9w0BAQEFAASCAmMwggJfAgEAAoGBANeXlumr6C63xD2g
    AdBtzlFBryte4wvVGLuNTkSj2kSL5d5JhJsapwesQS4l39+b2QUzbUDPaDvIjfpI
    GLDLTtfA3/0cf5Ysz1LsGc91xypvSo3WPc+aABClJ6ozy2eFND+QMRvc7N75vx7E
    yFh1XrQePXT1hJpY6HVazTYz4I0VAgMBAAECgYEA1e/9t7/5VXLSb/y6ECUG2ad+
    tmEgmXtLYcIlawPV8rOI1f7KckgOfBS5UZwP/ote3kRcJDYtTzYDfdvRdI8rmifu
    FYbznNOgyC1U3540iZxMV7kJ+oSXIoT4NzI8FClfzeBGdF+opEvE3NMKy/W+lTLU
    bRoY4/PBx+7zlRtQP0ECQQDsBr+PDEctFkpz6ZDsK1DEwBmC05BhetkcalPapg7G
    vybujlH8pq3beTry7lfImoANw2+PZFUEdl7R69GLu6U9AkEA6dYoDD7ORAtmLdVj
    bN1UQBW/c1kqKqplVHAKnC2EXo0QYWBzJBQjAjGrk6hsc5F/sV3kTrZdm2eAFR7h
    K2j0uQJBAOMKcsZl5ynF4YSyzsd/u0goCeJBJQfAJo0g8tzHFDu2sPqVSOSiaWdP
    rJb3EtZTWI7kyrHCr82FGB0SnRWvQXkCQQCfO6pBzHMBexG1nF38QCujCCw7DDje
    nPIrsbBH8eb1y/GfneJKazv7vn8sKcDQYgAmc92IjD7qGGzr9P84ZFxhAkEAnIo8
    YbNm7wXcLMplmf2hJRZBDvD1cv5utl3E7m9HLXj5Vdi5RN3YCRQ40RzKgALh3ZJ1
    xl3FC1KD2IRLNPnrSg==
    -----END PRIVATE KEY-----
    """

  /// The members of the account's file.
  package static var members: [String: Any] {
    [
      "type": "service_account", "project_id": "demo-hearth", "private_key_id": keyID, "private_key": privateKey,
      "client_email": email, "client_id": "1", "token_uri": "https://oauth2.googleapis.com/token",
    ]
  }

  /// The account's file, with some members replaced, or left out where the value is nil.
  package static func file(changing changes: [String: Any?] = [:]) throws -> Data {
    var members = members
    for (name, value) in changes { members[name] = value }
    return try JSONSerialization.data(withJSONObject: members)
  }
}
