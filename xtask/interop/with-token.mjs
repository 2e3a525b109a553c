// Stands before a server and shows it a token, for clients that can show none: node with-token.mjs URL TOKEN
// Prints the URL under which it listens.
import http from 'node:http';

const [, , target, token] = process.argv;
const { hostname, port } = new URL(target);
const proxy = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  const onward = http.request({ hostname, port, path: request.url, method: request.method, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  onward.on('error', () => response.destroy());
  // Whoever goes before the answer has ended gives up the request.
  response.on('close', () => onward.destroy());
  request.pipe(onward);
});
proxy.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${proxy.address().port}`));
