package distill

// ParseRetention is how a Config's ArchiveRetention is read.
var ParseRetention = parseRetention
