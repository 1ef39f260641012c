// The page makes samples in curl and Python; those in TypeScript are part of the document.
const others =
  'c clojure csharp dart fsharp go http java js kotlin node objc ocaml php powershell r ruby rust swift';

// The dashboard links here with what it shows of a key, such as svc_test_...CNzG. That is no secret, so samples show it, until
// someone enters a key.
const named = new URLSearchParams(location.search).get('key') ?? '';
const token = /^svc_(test|live)_\.{3}\w{4}$/.test(named) ? named : null;
const { dataset } = document.documentElement;
if (token !== null) dataset.key = token;
addEventListener('input', () => delete dataset.key);

window.Scalar.createApiReference('#reference', {
  url: '/docs/reference.json',
  authentication: {
    preferredSecurityScheme: 'apiKey',
    ...(token !== null && { securitySchemes: { apiKey: { token } } }),
  },
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  hiddenClients: {
    ...Object.fromEntries(others.split(' ').map((target) => [target, true])),
    shell: ['wget', 'httpie'],
    python: ['python3', 'httpx_sync', 'httpx_async', 'aiohttp'],
  },
  // Nothing is sent to or loaded from elsewhere.
  telemetry: false,
  withDefaultFonts: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
});
