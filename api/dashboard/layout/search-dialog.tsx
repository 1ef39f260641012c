import { Icon } from '../components/icon.tsx';
import { useAddress } from '../http/access.ts';

/** The search that / and Ctrl-K open on every page. Without scripts, the form leads to a page of results. */
export function SearchDialog() {
  return (
    <dialog id="search" class="search-dialog" aria-label="Search">
      <SearchForm id="search-query" text="" />
      <div class="hits" aria-live="polite">
        <p class="small muted">
          An order number or other metadata, a customer, any ID or its beginning, an amount.
        </p>
      </div>
    </dialog>
  );
}

interface SearchFormProps {
  /** Of the input. */
  id: string;
  text: string;
}

export function SearchForm({ id, text }: SearchFormProps) {
  const path = useAddress('/search');
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
