"""The scenario language: one YAML file, validated whole before anything else happens."""

from orchestrator.scenario.loader import LoadedScenario, LoadedVariant, load
from orchestrator.scenario.model import Flow, Scenario

__all__ = ["Flow", "LoadedScenario", "LoadedVariant", "Scenario", "load"]
