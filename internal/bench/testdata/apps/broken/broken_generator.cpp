#error "this application does not compile"
