// Command sqlite is a host that keeps its memory in a file. Each time it is started, a
// run reads what earlier ones left and adds what it is told; with -forget it erases a
// subject from the file.
//
// Usage:
//
//	sqlite [-db FILE] [-about SUBJECT] [NOTE]
//	sqlite [-db FILE] -forget SUBJECT
//
// Start it twice:
//
//	sqlite -about customer:1 "Lena prefers e-mail."
//	sqlite "The office is closed on Fridays."
//	sqlite -forget customer:1
package main
