import type { ComponentChildren } from 'preact';
import type { Environment } from '#shared/platform/environment.ts';
import { Mark } from '../components/icon.tsx';
import { assetUrl } from '../http/assets.ts';
import { Messages } from './messages.tsx';

interface DocumentProps {
  /** The title of the window. */
  title: string;
  /** Null outside of an environment. */
  environment: Environment | null;
  children: ComponentChildren;
}

/** A whole HTML page. The content policy allows no inline scripts and styles. */
export function Document({ title, environment, children }: DocumentProps) {
  return (
    <html lang="en" data-environment={environment ?? undefined}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        {/* Automatic updates do not replace an open dialog, and keep what is unfolded. */}
        <meta
          name="htmx-config"
          content={JSON.stringify({ morphSkip: 'dialog[open]', morphIgnore: ['data-htmx-powered', 'open'] })}
        />
        <title>{`${title} · Refunds`}</title>
        <link rel="icon" href={assetUrl('favicon.svg')} type="image/svg+xml" />
        <link
          rel="preload"
          href={assetUrl('inter.woff2')}
          as="font"
          type="font/woff2"
          crossOrigin="anonymous"
        />
        <link rel="stylesheet" href={assetUrl('dashboard.css')} />
        <script src={assetUrl('htmx.min.js')} defer />
        <script src={assetUrl('dashboard.js')} defer />
      </head>
      <body>{children}</body>
    </html>
  );
}

/** A page outside of an organization, such as the sign-in page. */
export function Gate({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <Document title={title} environment={null}>
      <main class="gate" id="main">
        <p class="brand">
          <Mark /> <span>Refunds</span>
        </p>
        <h1>{title}</h1>
        <Messages />
        {children}
      </main>
    </Document>
  );
}
