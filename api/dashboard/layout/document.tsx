import type { ComponentChildren } from 'preact';
import type { Environment } from '../../../shared/platform/environment.ts';
import { assetUrl } from '../http/assets.ts';

export interface DocumentProps {
  /** What the page is about; the window's title. */
  title: string;
  /** Colors the page; null where no environment has been chosen. */
  environment: Environment | null;
  children: ComponentChildren;
}

/** A whole HTML page. Nothing in it is inline, because the content policy lets no inline script or style run. */
export function Document({ title, environment, children }: DocumentProps) {
  return (
    <html lang="en" data-environment={environment ?? undefined}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        {/* A part that refreshes itself renews its dialogs too, but not the open one: somebody is about to decide in it. */}
        <meta name="htmx-config" content={JSON.stringify({ morphSkip: 'dialog[open]' })} />
        <title>{`${title} · Refunds`}</title>
        <link rel="icon" href={assetUrl('favicon.svg')} type="image/svg+xml" />
        <link rel="stylesheet" href={assetUrl('dashboard.css')} />
        <script src={assetUrl('htmx.min.js')} defer />
        <script src={assetUrl('dashboard.js')} defer />
      </head>
      <body>{children}</body>
    </html>
  );
}
