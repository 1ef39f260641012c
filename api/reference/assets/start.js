// The page makes samples in curl and Python; those in TypeScript are part of the document.
const others =
  'c clojure csharp dart fsharp go http java js kotlin node objc ocaml php powershell r ruby rust swift';

window.Scalar.createApiReference('#reference', {
  url: '/openapi.json',
  authentication: { preferredSecurityScheme: 'apiKey' },
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
