package commitment

// For the tests.
var FromDocument = fromDocument

const DocumentKind = documentKind
