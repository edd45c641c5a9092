//! A chart as SVG: lines with points over two axes, on white.

use std::fmt::Write as _;

use super::scale::{Kind, Scale, label};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 460.0;
/// Margins around the plot, for titles and labels.
const LEFT: f64 = 78.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 86.0;
const BOTTOM: f64 = 64.0;

/// A palette for colour-blind readers (Okabe and Ito).
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444"];
const INK: &str = "#1f2933";
const FAINT: &str = "#5b6770";
const GRID: &str = "#e4e7eb";
const FONT: &str = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif";
/// The average width of a letter in the legend.
const LETTER: f64 = 6.8;

#[derive(Debug)]
pub(super) struct Chart {
    pub(super) title: &'static str,
    /// What the chart shows, and the machine.
    pub(super) subtitle: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) lines: Vec<Line>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    /// Includes the unit.
    pub(super) label: &'static str,
    pub(super) kind: Kind,
}

/// Points from left to right.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
}

impl Chart {
    pub(super) fn to_svg(&self) -> String {
        let points = self.lines.iter().flat_map(|line| &line.points);
        let (x, y) = (
            Scale::of(self.x.kind, points.clone().map(|(x, _)| *x)),
            Scale::of(self.y.kind, points.map(|(_, y)| *y)),
        );
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
             height=\"{HEIGHT}\" font-family=\"{FONT}\" font-size=\"12\" fill=\"{INK}\" role=\"img\">\n\
             <title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
            escaped(self.title)
        );
        self.draw_titles(&mut svg);
        self.draw_axes(&mut svg, x, y);
        for (line, colour) in self.lines.iter().zip(COLOURS.iter().cycle()) {
            draw_line(&mut svg, line, colour, x, y);
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn draw_titles(&self, svg: &mut String) {
        text(svg, LEFT, 26.0, "font-size=\"17\" font-weight=\"600\"", self.title);
        text(svg, LEFT, 45.0, &format!("fill=\"{FAINT}\""), &self.subtitle);
        let mut left = LEFT;
        for (line, colour) in self.lines.iter().zip(COLOURS.iter().cycle()) {
            let _ = writeln!(svg, "<circle cx=\"{:.1}\" cy=\"66\" r=\"4.5\" fill=\"{colour}\"/>", left + 5.0);
            text(svg, left + 15.0, 70.0, "", &line.name);
            left += 15.0 + LETTER * line.name.chars().count() as f64 + 18.0;
        }
    }

    fn draw_axes(&self, svg: &mut String, x: Scale, y: Scale) {
        let bottom = HEIGHT - BOTTOM;
        for tick in y.ticks() {
            let at = place_y(y, tick);
            rule(svg, (LEFT, at), (WIDTH - RIGHT, at), GRID);
            text(svg, LEFT - 10.0, at + 4.0, &format!("text-anchor=\"end\" fill=\"{FAINT}\""), &label(tick));
        }
        for tick in x.ticks() {
            let at = place_x(x, tick);
            rule(svg, (at, bottom), (at, bottom + 5.0), FAINT);
            text(svg, at, bottom + 20.0, &format!("text-anchor=\"middle\" fill=\"{FAINT}\""), &label(tick));
        }
        rule(svg, (LEFT, bottom), (WIDTH - RIGHT, bottom), FAINT);
        let middle = LEFT.midpoint(WIDTH - RIGHT);
        text(svg, middle, HEIGHT - 18.0, "text-anchor=\"middle\" font-size=\"13\"", self.x.label);
        let centre = TOP.midpoint(bottom);
        let turned =
            format!("text-anchor=\"middle\" font-size=\"13\" transform=\"rotate(-90 20 {centre:.1})\"");
        text(svg, 20.0, centre, &turned, self.y.label);
    }
}

fn place_x(scale: Scale, value: f64) -> f64 {
    LEFT + scale.place(value) * (WIDTH - LEFT - RIGHT)
}

fn place_y(scale: Scale, value: f64) -> f64 {
    HEIGHT - BOTTOM - scale.place(value) * (HEIGHT - TOP - BOTTOM)
}

fn draw_line(svg: &mut String, line: &Line, colour: &str, x: Scale, y: Scale) {
    let places = line.points.iter().map(|(at_x, at_y)| (place_x(x, *at_x), place_y(y, *at_y)));
    let path: Vec<String> = places.clone().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-linejoin=\"round\"/>",
        path.join(" ")
    );
    for ((at_x, at_y), (x, y)) in line.points.iter().zip(places) {
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\" stroke=\"#ffffff\" stroke-width=\"1.2\">\
             <title>{}: {} at {}</title></circle>",
            escaped(&line.name),
            label(*at_y),
            label(*at_x)
        );
    }
}

fn rule(svg: &mut String, from: (f64, f64), to: (f64, f64), colour: &str) {
    let ((x1, y1), (x2, y2)) = (from, to);
    let _ = writeln!(
        svg,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"/>"
    );
}

fn text(svg: &mut String, x: f64, y: f64, attributes: &str, text: &str) {
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{}</text>", escaped(text));
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_has_its_texts_and_stays_within_its_frame() {
        let line =
            |name: &str, y: f64| Line { name: name.into(), points: vec![(100.0, y), (1_000.0, 2.0 * y)] };
        let chart = Chart {
            title: "Latency & load",
            subtitle: "pairs".into(),
            x: Axis { label: "messages a second", kind: Kind::Linear },
            y: Axis { label: "ms", kind: Kind::Log },
            lines: vec![line("p50", 0.5), line("p99 <", 7.0)],
        };
        let svg = chart.to_svg();
        for words in ["Latency &amp; load", "messages a second", ">ms<", ">p50<", "p99 &lt;", "rotate(-90"] {
            assert!(svg.contains(words), "{words} in {svg}");
        }
        assert_eq!(svg.matches("<polyline").count(), 2);
        let places = svg.match_indices("cx=\"").map(|(at, _)| svg[at + 4..].split('"').next().unwrap());
        for place in places {
            assert!((0.0..=WIDTH).contains(&place.parse().unwrap()), "{place}");
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
