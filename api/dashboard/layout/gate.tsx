import type { ComponentChildren } from 'preact';
import { Document } from './document.tsx';

/** A page for those who are not in an organization: to sign in, to be invited, to choose one. */
export function Gate({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <Document title={title} environment={null}>
      <main class="gate" id="main">
        <h1>{title}</h1>
        {children}
      </main>
    </Document>
  );
}
