import { createServer } from 'node:http';

// Accepts every webhook on the port given as the only argument.

createServer((request, response) => {
  request.resume().on('end', () => response.end());
}).listen(Number(process.argv[2]), '127.0.0.1');
