module example.org/rot13

go 1.19
