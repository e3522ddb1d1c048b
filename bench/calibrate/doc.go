// Command calibrate counts, with the exact tokenizer o200k_base, the blocks of text
// that package distill's estimator is calibrated on, from the root of the repository:
//
//	go run -C bench ./calibrate ../distill/testdata/calibration
//
// It writes counts.tsv into that directory: class, number of the block, tokens. Blocks
// are parted by empty lines. The weights are then fitted to every other block by
//
//	AGENTMEMORY_CALIBRATE=1 go test -run Calibrate ./distill
package main
