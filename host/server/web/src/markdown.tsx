// Markdown of strangers: read into pieces by a library, and shown as elements of ours. Its HTML is text, links open elsewhere,
// images come from the text itself or not at all.

import type { ComponentChildren } from "preact";
import { lexer, type Token, type Tokens } from "marked";
import { shown } from "./text";

const LARGEST = 200_000;
const DEEPEST = 24;
const IMAGE = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/;

export function Markdown({ text }: { text: string }) {
  const tokens = read(text);
  if (tokens === undefined) return <pre class="text" dir="auto">{shown(text)}</pre>;
  return <div class="markdown" dir="auto">{blocks(tokens, 0)}</div>;
}

function read(text: string): Token[] | undefined {
  if (text.length > LARGEST) return undefined;
  try {
    return lexer(text, { gfm: true, async: false });
  } catch {
    // Nested deeper than the library goes.
    return undefined;
  }
}

const entities: Record<string, string> = { "&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"', "&#39;": "'" };
const plain = (text: string) => shown(text.replace(/&(?:lt|gt|amp|quot|#39);/g, (entity) => entities[entity] ?? entity));

/** Where a link may lead. */
export function safeLink(href: string): string | undefined {
  return /^(?:https?|mailto):/i.test(href) && URL.canParse(href) ? new URL(href).href : undefined;
}

export function Link({ href, children }: { href: string; children?: ComponentChildren }) {
  const safe = safeLink(href);
  if (safe === undefined) return <>{children ?? shown(href)}</>;
  return <a href={safe} title={safe} target="_blank" rel="noopener noreferrer nofollow">{children ?? shown(href)}</a>;
}

function blocks(tokens: Token[], depth: number): ComponentChildren {
  if (depth > DEEPEST) return tokens.map((token) => plain(token.raw));
  return tokens.map((token, index) => <Block key={index} token={token} depth={depth} />);
}

function Block({ token, depth }: { token: Token; depth: number }): ComponentChildren {
  const inner = (tokens: Token[] | undefined) => blocks(tokens ?? [], depth + 1);
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading": {
      // Below the headings of the page.
      const Heading = `h${Math.min(6, (token as Tokens.Heading).depth + 2)}` as "h3";
      return <Heading>{inner(token.tokens)}</Heading>;
    }
    case "paragraph":
      return <p>{inner(token.tokens)}</p>;
    case "blockquote":
      return <blockquote>{inner(token.tokens)}</blockquote>;
    case "code":
      return <pre class="code" tabIndex={0}>{shown(token.text)}</pre>;
    case "hr":
      return <hr />;
    case "list": {
      const list = token as Tokens.List;
      const items = list.items.map((item, index) => (
        <li key={index}>
          {item.task && <span>{item.checked ? "☑ " : "☐ "}</span>}
          {inner(item.tokens.filter((one) => one.type !== "checkbox"))}
        </li>
      ));
      return list.ordered ? <ol start={Number(list.start) || 1}>{items}</ol> : <ul>{items}</ul>;
    }
    case "table": {
      const table = token as Tokens.Table;
      return (
        <div class="scroll" tabIndex={0} role="group" aria-label="Table">
          <table>
            <thead><tr>{table.header.map((cell, i) => <th key={i} class={cell.align ?? undefined}>{inner(cell.tokens)}</th>)}</tr></thead>
            <tbody>
              {table.rows.map((row, r) => (
                <tr key={r}>{row.map((cell, i) => <td key={i} class={cell.align ?? undefined}>{inner(cell.tokens)}</td>)}</tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    }
    case "html":
      return token.block ? <p>{shown(token.raw)}</p> : <>{shown(token.raw)}</>;
    case "strong":
      return <strong>{inner(token.tokens)}</strong>;
    case "em":
      return <em>{inner(token.tokens)}</em>;
    case "del":
      return <del>{inner(token.tokens)}</del>;
    case "codespan":
      return <code>{plain(token.text)}</code>;
    case "br":
      return <br />;
    case "link":
      return <Link href={token.href}>{inner(token.tokens)}</Link>;
    case "image":
      return IMAGE.test(token.href) ? <img src={token.href} alt={shown(token.text)} /> : <Link href={token.href}>{shown(token.text) || undefined}</Link>;
    case "escape":
      return <>{plain(token.text)}</>;
    case "text":
      return token.tokens ? <>{inner(token.tokens)}</> : <>{plain(token.text)}</>;
    default:
      return <>{plain(token.raw)}</>;
  }
}
