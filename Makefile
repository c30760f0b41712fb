.PHONY: run test
run:
	@tools/run
test:
	@tools/test
