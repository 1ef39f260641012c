import { createServer } from 'node:http';

// Accepts every webhook on the port given as the only argument. The path /hang never responds.

createServer((request, response) => {
  if (request.url === '/hang') return;
  request.resume().on('end', () => response.end());
}).listen(Number(process.argv[2]), '127.0.0.1');
