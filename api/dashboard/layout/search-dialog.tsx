import { Icon } from '../components/icon.tsx';
import type { Context } from '../http/access.ts';

/** The search that / and Ctrl-K open on every page. Without scripts, the form leads to a page of results. */
export function SearchDialog({ context }: { context: Context }) {
  return (
    <dialog id="search" class="search-dialog" aria-label="Search">
      <SearchForm context={context} id="search-query" text="" />
      <div class="hits" aria-live="polite">
        <p class="small muted">
          An order number or other metadata, a customer, any ID or its beginning, an amount.
        </p>
      </div>
    </dialog>
  );
}

interface SearchFormProps {
  context: Context;
  /** Of the input. */
  id: string;
  text: string;
}

export function SearchForm({ context, id, text }: SearchFormProps) {
  const path = `${context.base}/search`;
  return (
    <search class="search-form">
      <form method="get" action={path}>
        <Icon name="search" />
        <input
          id={id}
          type="search"
          name="q"
          value={text}
          aria-label="Search refunds"
          placeholder="Order, customer, ID or amount"
          autocomplete="off"
          spellcheck={false}
          maxLength={200}
          hx-get={path}
          hx-trigger="input changed delay:150ms"
          hx-target="next .hits"
          hx-sync="this:replace"
        />
      </form>
    </search>
  );
}
