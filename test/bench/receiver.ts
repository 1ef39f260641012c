import { createServer } from 'node:http';

// Accepts every webhook on the port given as the only argument, and counts those on paths that are a number. The path /hang
// never responds. GET answers what was counted since the last DELETE.

let counted = { count: 0, firstAt: 0, lastAt: 0 };

createServer((request, response) => {
  const { method, url = '' } = request;
  if (url === '/hang') return;
  if (method === 'DELETE') counted = { count: 0, firstAt: 0, lastAt: 0 };
  if (method === 'POST' && /^\/\d+$/.test(url)) {
    const lastAt = performance.now();
    counted = { count: counted.count + 1, firstAt: counted.firstAt || lastAt, lastAt };
  }
  request.resume().on('end', () => response.end(method === 'GET' ? JSON.stringify(counted) : ''));
}).listen(Number(process.argv[2]), '127.0.0.1');
