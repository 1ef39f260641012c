// Loads Node's fetch before a test loads the package undici, whose dispatcher fetch would use otherwise. Node 20's fetch does
// not work with it.
void globalThis.Response;
